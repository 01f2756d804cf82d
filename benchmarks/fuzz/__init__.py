"""Fuzzing: mutated files, tables, command lines, times and settings, and kills and full disks at random moments.

``python -m benchmarks.fuzz`` runs 20,000 mutated files and some of everything else; ``python -m benchmarks.fuzz.kills``
kills commands. What must hold: no code of a file runs, no number is wrong, every refusal is an error of ours, and
memory stays within the file's size and 100 MB. ``seeds.json`` holds the cases that once failed; tests replay them.
"""
