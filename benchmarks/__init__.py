"""Timings, as ratios to other packages measured in the same run."""
