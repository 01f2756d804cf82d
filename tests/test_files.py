"""Files are whole or not there, leftovers of killed writers go, and a folder has one user at a time."""

import os
import resource
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from lifemix.errors import FolderInUseError, InputError, ModelFileError
from lifemix.files import atomic_write, folder_lock, read_arrays, write_arrays

HOLDS = """
import sys, time
from pathlib import Path
from lifemix.files import folder_lock
with folder_lock(Path(sys.argv[1]), "search"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_writer_at_work_is_left_alone(tmp_path):
    path = tmp_path / "model.txt"
    with atomic_write(path) as first:
        first.write_text("first")
        with atomic_write(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"


def test_a_full_disk_is_told_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text("old")
    limits, action = (
        resource.getrlimit(resource.RLIMIT_FSIZE),
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
    )
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(
            InputError,
            match="cannot be written: .*File too large.* Check the folder and the free space",
        ):
            with atomic_write(path) as partial:
                partial.write_bytes(bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, action)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.txt"]


@pytest.mark.slow
def test_a_second_process_is_refused_and_a_killed_one_frees_the_folder(tmp_path):
    folder = tmp_path / "new"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, folder], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(FolderInUseError, match=r"another process uses the folder .*\(search\)"):
            with folder_lock(folder, "search"):
                pass
        with folder_lock(folder, "checkpoint"):  # another purpose
            pass
        process.kill()
    with folder_lock(folder, "search"):
        assert os.listdir(folder) == [".lifemix-search.lock"]
    assert os.listdir(folder) == []


def test_one_of_many_threads_has_the_folder(tmp_path):
    inside, most, refused = [], [], []

    def use():
        for _ in range(200):
            try:
                with folder_lock(tmp_path, "search"):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
            except FolderInUseError:
                refused.append(1)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(most) + len(refused) == 800


def test_a_folder_that_cannot_hold_a_lock_is_used_without(tmp_path):
    (tmp_path / "file").touch()
    with folder_lock(tmp_path / "file" / "below", "search"):
        pass


ARRAYS = {
    "numbers": np.arange(2000.0),
    "none": np.zeros((0, 3)),
    "one": np.array(3),
    "yes": np.array([True, False]),
}


def test_content_and_arrays_come_back(tmp_path):
    write_arrays(tmp_path / "file", {"a": [1.5, None, "é\ud800"]}, ARRAYS)
    content, arrays = read_arrays(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"")  # the arrays are in memory
    assert content == {"a": [1.5, None, "é\ud800"]}
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)


@pytest.mark.parametrize(
    "arrays",
    [
        {"y": np.arange(6.0)},
        {"x": np.arange(6)},
        {"x": np.arange(6.0)[None]},
        {"x": np.arange(1.0, 7.0)},
        {},
    ],
    ids=["name", "type", "shape", "numbers", "none"],
)
def test_the_checksum_covers_names_types_shapes_and_numbers(arrays, tmp_path):
    write_arrays(tmp_path / "file", 1, {"x": np.arange(6.0)})
    with safe_open(tmp_path / "file", framework="np") as file:
        metadata = file.metadata()
    save_file(arrays, tmp_path / "file", metadata)
    with pytest.raises(ModelFileError, match="is damaged: its checksum does not match"):
        read_arrays(tmp_path / "file")


def test_a_large_file_that_is_not_safetensors_is_refused_before_it_is_read(tmp_path):
    with open(tmp_path / "file", "wb") as file:
        file.truncate(2**40)  # sparse: a terabyte does not fit into memory
    with pytest.raises(ModelFileError, match="is not a complete file"):
        read_arrays(tmp_path / "file")
