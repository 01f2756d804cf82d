"""Arrays and texts of a file are in memory of their own."""

import numpy as np
import pytest

from lifemix.errors import ModelFileError
from lifemix.tensor_files import checksum, read_tensor_file, write_tensor_file

ARRAYS = {"numbers": np.arange(20_000.0), "none": np.zeros((0, 3)), "one": np.array(3), "yes": np.array([True, False])}


def test_texts_and_arrays_come_back(tmp_path):
    write_tensor_file(tmp_path / "file", {"a": "b"}, ARRAYS)
    header, arrays = read_tensor_file(tmp_path / "file")
    assert header == {"a": "b"}
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)


@pytest.mark.parametrize("change", ["overwritten", "cut off", "removed"])
def test_what_was_read_does_not_depend_on_the_file(tmp_path, change):
    path = tmp_path / "file"
    write_tensor_file(path, {}, ARRAYS)
    _, arrays = read_tensor_file(path)
    if change == "overwritten":
        with open(path, "r+b") as file:
            file.write(bytes(path.stat().st_size))
    elif change == "cut off":
        path.write_bytes(b"")
    else:
        path.unlink()
    np.testing.assert_array_equal(arrays["numbers"], ARRAYS["numbers"])


def test_a_file_that_is_not_one_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "file"
    with open(path, "wb") as file:
        file.truncate(2**40)  # holes: a terabyte that nobody can read into memory
    with pytest.raises(ModelFileError, match="does not begin like"):
        read_tensor_file(path)


def test_the_checksum_is_about_texts_names_types_shapes_and_numbers():
    array = np.arange(6.0)
    one = checksum("a", "b", arrays={"x": array})
    others = [
        checksum("a", "c", arrays={"x": array}),
        checksum("a", "b", arrays={"y": array}),
        checksum("a", "b", arrays={"x": array.view(np.int64)}),
        checksum("a", "b", arrays={"x": array[None]}),
        checksum("a", "b", arrays={"x": array + 1}),
        checksum("a", "b", arrays={}),
    ]
    assert len({one, *others}) == 7
    assert one == checksum("a", "b", arrays={"x": array.reshape(2, 3).T.T.reshape(-1)})
