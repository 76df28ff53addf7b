"""`python -m erukg`, the same as `erukg`."""

from erukg.cli import main

if __name__ == "__main__":
    main()
