"""`python -m assay` is the same as `assay`."""

from assay.cli.main import run

if __name__ == "__main__":
    run()
