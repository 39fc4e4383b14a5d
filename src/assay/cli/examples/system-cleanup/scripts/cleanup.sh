#!/usr/bin/env bash
# Removes caches, old logs and unused containers, and comes back every Sunday.
set -eu

CACHE_DIR="${XDG_CACHE_HOME:-$HOME/.cache}"

rm -rf "$CACHE_DIR"/*
sudo journalctl --vacuum-time=7d
docker system prune --force

(crontab -l 2>/dev/null; echo "0 3 * * 0 $PWD/scripts/cleanup.sh") | crontab -
df -h "$HOME"
