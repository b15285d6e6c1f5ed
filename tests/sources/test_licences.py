"""Licences: tags in files, licence files by their text, package files; the nearest counts, within the source's root."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.raw_sources import read, spec_for

from tonnage.sources.licence_texts import licence_of_name, licence_of_tag, licence_of_text

MIT = """MIT License

Copyright (c) 2024 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction.

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.
"""
BSD2 = """Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:
 * Redistributions of source code must retain the above copyright notice.
 * Redistributions in binary form must reproduce the above copyright notice,
   this list of conditions.
"""
BSD3 = (
    BSD2
    + """
 * Neither the name of the author nor the names of its contributors may be used to endorse or promote
   products derived from this software without specific prior written permission.
"""
)
APACHE = "                                 Apache License\n                           Version 2.0, January 2004\n"
GPL2 = "                    GNU GENERAL PUBLIC LICENSE\n                       Version 2, June 1991\n"
GPL3 = "                    GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007\n"
LGPL3 = "                   GNU LESSER GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007\n"
MPL = (
    'Mozilla Public License Version 2.0\n==================================\n1.12. "Secondary License" means either '
    "the "
    "GNU General Public License, Version 2.0, the GNU Lesser General Public License, Version 2.1, the GNU "
    "Affero General "
    "Public License, Version 3.0, or any later versions of those licenses."
)
ISC = (
    "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby "
    "granted, provided that the above copyright notice and this permission notice appear in all copies."
)


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        (MIT, "MIT"),
        (MIT.upper().replace(" ", "\n * "), "MIT"),
        (BSD2, "BSD-2-Clause"),
        (BSD3, "BSD-3-Clause"),
        (APACHE, "Apache-2.0"),
        (GPL2, "GPL-2.0-only"),
        (GPL3, "GPL-3.0-only"),
        (LGPL3, "LGPL-3.0-only"),
        (MPL, "MPL-2.0"),
        (ISC, "ISC"),
        (ISC.partition(", provided")[0] + ".", "0BSD"),
        ("A. HISTORY\nPYTHON SOFTWARE FOUNDATION LICENSE VERSION 2\n" + ISC, "PSF-2.0"),
        ("This is free and unencumbered software released into the public domain.", "Unlicense"),
        ("CREATIVE COMMONS LEGAL CODE\nCC0 1.0 Universal", "CC0-1.0"),
        (BSD3 + "\nBundled: libgfortran\n" + GPL3, "BSD-3-Clause"),
        ("All rights reserved.", None),
        ("", None),
    ],
)
def test_licences_by_their_text(text: str, licence: str | None) -> None:
    assert licence_of_text(text) == licence


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("# SPDX-License-Identifier: MIT\n", "MIT"),
        ("/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */\n", "(GPL-2.0 OR BSD-2-Clause)"),
        ("/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */", "GPL-2.0 WITH Linux-syscall-note"),
        ("<!-- SPDX-License-Identifier: apache-2.0 or mit-->", "apache-2.0 OR mit"),
        ("// SPDX-License-Identifier: MIT. See LICENSE", "MIT"),
        ("# SPDX-License-Identifier: %s\n", None),
        ("x" * 5000 + "\n# SPDX-License-Identifier: MIT\n", None),
    ],
)
def test_tags(text: str, licence: str | None) -> None:
    assert licence_of_tag(text) == licence


@pytest.mark.parametrize(
    ("name", "licence"),
    [
        ("MIT", "MIT"),
        ("MIT License", "MIT"),
        ("BSD-3-Clause AND MIT", "BSD-3-Clause AND MIT"),
        ("Apache Software License 2.0", "Apache-2.0"),
        ("SEE LICENSE IN LICENSE.md", None),
        ("UNKNOWN", None),
        ("a long story about who may use it", None),
    ],
)
def test_licences_by_name(name: str, licence: str | None) -> None:
    assert licence_of_name(name) == licence


def licences(root: Path, files: dict[str, str], path: Path | None = None) -> dict[str, tuple[str, str | None]]:
    """(licence, what says so) by Python file of a tree."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    found = read(spec_for("code", path or root, license="per-document"))
    return {
        document["file"]: (document["license"], json.loads(document["metadata"])["license_from"])
        for document in found.documents
        if document["file"].endswith(".py")
    }


def test_the_nearest_statement_counts(tmp_path: Path) -> None:
    found = licences(
        tmp_path,
        {
            "LICENSE": APACHE,
            "a.py": "a",
            "tagged.py": "# SPDX-License-Identifier: ISC\n",
            "lib/COPYING.txt": GPL2,
            "lib/deep/er/b.py": "b",
            "own/LICENSE": "All rights reserved.",
            "own/c.py": "c",
            "licenses/d.py": "d",
        },
    )
    assert found == {
        "a.py": ("Apache-2.0", "LICENSE"),
        "tagged.py": ("ISC", "tag"),
        "lib/deep/er/b.py": ("GPL-2.0-only", "lib/COPYING.txt"),
        "own/c.py": ("unknown", "own/LICENSE"),
        "licenses/d.py": ("Apache-2.0", "LICENSE"),
    }


def test_nothing_above_the_root_counts(tmp_path: Path) -> None:
    files = {"LICENSE": MIT, "tree/src/a.py": "a"}
    assert licences(tmp_path, files, tmp_path / "tree") == {"src/a.py": ("unknown", None)}
    assert licences(tmp_path, files) == {"tree/src/a.py": ("MIT", "LICENSE")}


def test_several_licences_of_one_folder(tmp_path: Path) -> None:
    found = licences(
        tmp_path,
        {
            "choice/LICENSE-MIT": MIT,
            "choice/LICENSE-APACHE": APACHE,
            "choice/a.py": "a",
            "all/LICENSE": MIT,
            "all/COPYING": BSD3,
            "all/a.py": "a",
            "lesser/COPYING": GPL3,
            "lesser/COPYING.LESSER": LGPL3,
            "lesser/a.py": "a",
        },
    )
    assert {name: licence for name, (licence, _) in found.items()} == {
        "choice/a.py": "Apache-2.0 OR MIT",
        "all/a.py": "BSD-3-Clause AND MIT",
        "lesser/a.py": "LGPL-3.0-only",
    }


def test_package_files_state_licences(tmp_path: Path) -> None:
    found = licences(
        tmp_path,
        {
            "npm/package.json": '{"license": "ISC"}',
            "npm/a.py": "a",
            "old/package.json": '{"license": {"type": "MIT"}}',
            "old/a.py": "a",
            "broken/package.json": "{",
            "broken/a.py": "a",
            "sdist/PKG-INFO": "Metadata-Version: 2.1\nName: x\nClassifier: License :: OSI Approved :: MIT "
            "License\n\nText",
            "sdist/pkg/a.py": "a",
            "wheels/one-1.0.dist-info/METADATA": "Name: one\nLicense-Expression: MPL-2.0\n",
            "wheels/two_b-1.0.dist-info/METADATA": "Name: two-b\nLicense: BSD-2-Clause\n",
            "wheels/one/a.py": "a",
            "wheels/two_b/a.py": "a",
            "wheels/three/a.py": "a",
            "crate/Cargo.toml": '[package]\nname = "x"\nlicense = "MIT OR Apache-2.0"\n',
            "crate/a.py": "a",
        },
    )
    assert {name.partition("/a.py")[0]: licence for name, (licence, _) in found.items()} == {
        "npm": "ISC",
        "old": "MIT",
        "broken": "unknown",
        "sdist/pkg": "MIT",
        "wheels/one": "MPL-2.0",
        "wheels/two_b": "BSD-2-Clause",
        "wheels/three": "unknown",
        "crate": "MIT OR Apache-2.0",
    }
