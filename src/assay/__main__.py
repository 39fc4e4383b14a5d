"""Entry point of `python -m assay`."""

from assay.cli.main import run

if __name__ == "__main__":
    run()
