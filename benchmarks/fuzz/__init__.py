"""Fuzzing: damaged model files, checkpoints and tables, forged model files, odd commands, cells, targets and settings.

No code of a file may run, no number may be wrong, every refusal must be one of lifemix's own errors, and memory must
stay within the size of the file and 100 MB.
"""
