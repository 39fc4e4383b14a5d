"""A token that secret scanners find."""

# Assembled here so that no scanner finds it in this file; its last letters are the checksum that scanners verify.
TOKEN = "ghp_" + "DgLmOIYRLFXx1RtNYfF3Va7nuTfoy6" + "3ITBLg"
