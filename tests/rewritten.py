"""Model files as their parts, and put together again after a change."""

import json
from hashlib import sha256


def split(raw):
    """The header as an object, the structure as an object, and the bytes of the arrays."""
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["iokr"]), raw[8 + length :]


def joined(header, structure, data):
    """The file again, with hashes that are right whatever was done to it."""
    for name in structure.get("sha256", {}):
        if name in header:
            start, stop = header[name]["data_offsets"]
            structure["sha256"][name] = sha256(data[start:stop]).hexdigest()
    text = json.dumps(structure)
    header["__metadata__"] = {"iokr": text, "iokr_sha256": sha256(text.encode()).hexdigest()}
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    return len(raw).to_bytes(8, "little") + raw + data
