"""Spectra from files: records that are read and rejected, and errors.

Tests of `iokr.apps.readers.peak_lists`, `iokr.apps.readers.mzml` and `iokr.apps.readers.spectra_files`.
"""

import base64
import gzip
import zlib

import numpy as np
import pytest

from iokr.apps.readers import read_spectra_files
from iokr.chem import Cleaning

PEAKS = "77.039 10\n95.049 5\n105.033 100\n"


def mgf(*bodies):
    return "".join(f"BEGIN IONS\n{body}END IONS\n\n" for body in bodies)


def ion(title="a", extra="", peaks=PEAKS, mass="PEPMASS=123.044\n"):
    return f"TITLE={title}\n{mass}{extra}{peaks}"


def read(folder, text, name="lib.mgf", **options):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_spectra_files(path, **options)


def reasons(found):
    return [(r.id, r.reason) for r in found.rejections]


# -------------------------------------------------------------------------------------------------------------- MGF


def test_mgf(tmp_path):
    extra = "CHARGE=1+\nsmiles=C=O\nInChIKey=N/A\nADDUCT=[M+H]+\nFree=a=b\n"
    found = read(
        tmp_path, "# comment\nINSTRUMENT=QTOF\n" + mgf(ion(extra=extra), ion("b", mass="pepmass=200.1 4000\n"))
    )
    assert found.ids == ["a", "b"] and found.n_read == 2 and found.lines == (3, 16) and found.ion_mode == "positive"
    first = found.spectra[0]
    np.testing.assert_allclose(first.mz, [77.039, 95.049, 105.033])
    assert first.intensity.tolist() == [0.1, 0.05, 1.0] and first.precursor_mz == 123.044
    known = {"charge": 1, "smiles": "C=O", "adduct": "[M+H]+", "free": "a=b", "instrument": "QTOF"}
    assert known.items() <= first.metadata.items() and "inchikey" not in first.metadata
    assert found.spectra[1].precursor_mz == 200.1


@pytest.mark.parametrize(
    ("separator", "more"), [(" ", ""), ("\t", ""), (",", ""), (";", ""), ("  ", " 1+"), (" ", "\t7 8")]
)
def test_peak_lines(tmp_path, separator, more):
    peaks = "".join(f"{m}{separator}{i}{more}\n" for m, i in ((77.0, 1), (91.0, 3), (105.0, 1e2)))
    assert len(read(tmp_path, mgf(ion(peaks=peaks))).spectra[0]) == 3


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("TITLE=t\nSCANS=7\n", "t"),
        ("SPECTRUM_ID=s\nFEATURE_ID=f\n", "s"),
        ("FEATURE_ID=f\nSCANS=7\n", "f"),
        ("SCANS=7\n", "7"),
        ("NAME=water\n", "water"),
        ("", "1"),
    ],
)
def test_ids(tmp_path, header, name):
    assert read(tmp_path, mgf(f"{header}PEPMASS=123.0\n{PEAKS}")).ids == [name]


@pytest.mark.parametrize(
    ("charge", "value", "mode"), [("1+", 1, "positive"), ("2-", -2, "negative"), ("+1", 1, "positive"), ("1", 1, None)]
)
def test_charges(tmp_path, charge, value, mode):
    found = read(tmp_path, mgf(ion(extra=f"CHARGE={charge}\n")))
    assert found.spectra[0].metadata["charge"] == value and found.ion_mode == mode


def test_pyteomics_reads_the_same(tmp_path):
    pytest.importorskip("pyteomics")
    from pyteomics import mgf as theirs

    rng = np.random.default_rng(0)
    bodies = [
        ion(f"s{i}", mass=f"PEPMASS={300 + i}.5\n", peaks="".join(f"{m:.4f} {h:.3f}\n" for m, h in rows))
        for i in range(5)
        for rows in [np.column_stack([np.sort(rng.uniform(50, 290, 20)), rng.uniform(1, 99, 20)])]
    ]
    path = tmp_path / "lib.mgf"
    path.write_text(mgf(*bodies))
    ours = read_spectra_files(path, cleaning=Cleaning(0.0, 0.0))
    for spectrum, entry in zip(ours.spectra, theirs.read(str(path), use_index=False), strict=True):
        np.testing.assert_array_equal(spectrum.mz, entry["m/z array"])
        np.testing.assert_allclose(spectrum.intensity, entry["intensity array"] / entry["intensity array"].max())
        assert spectrum.precursor_mz == entry["params"]["pepmass"][0]
        assert spectrum.metadata["id"] == entry["params"]["title"]


REJECTED = [
    (ion(mass=""), "no precursor"),
    (ion(mass="PEPMASS=heavy\n"), "bad precursor"),
    (ion(mass="PEPMASS=-5\n"), "bad precursor"),
    (ion(mass="PEPMASS=nan\n"), "no precursor"),
    (ion(peaks="77.0 1\n91.0 1\n"), "too few peaks"),
    (ion(peaks=""), "too few peaks"),
    (ion(peaks=PEAKS + "300 5\n301 5\n", mass="PEPMASS=80\n"), "too few peaks"),
    (ion(peaks=PEAKS + "abc def\n"), "peaks not numeric"),
    (ion(peaks=PEAKS + "110.0\n"), "peaks not numeric"),
    (ion(peaks=PEAKS + "-4.0 1\n"), "m/z not positive"),
    (ion(peaks=PEAKS + "0 1\n"), "m/z not positive"),
    (ion(peaks=PEAKS + "inf 1\n"), "peaks not finite"),
    (ion(peaks=PEAKS + "110 nan\n"), "peaks not finite"),
    (ion(peaks=PEAKS + "110 -3\n"), "negative intensity"),
    (ion(peaks="77 0\n91 0\n105 0\n"), "all intensities 0"),
    (ion(extra="MSLEVEL=1\n"), "MS level 1"),
    (ion(peaks="".join(f"{50 + i * 0.002:.4f} 5\n" for i in range(2100))), "profile data"),
]


@pytest.mark.parametrize(("body", "reason"), REJECTED)
def test_rejected_and_the_run_goes_on(tmp_path, body, reason):
    found = read(tmp_path, mgf(ion("good"), body))
    assert found.ids == ["good"] and found.n_read == 2
    (row,) = found.rejections
    assert (row.file, row.line, row.id, row.what, row.reason, row.action) == (
        *("lib.mgf", 9, "a", "spectrum"),
        *(reason, "left out"),
    )


def test_details_of_rejections(tmp_path):
    found = read(tmp_path, mgf(ion(peaks="77.0 1\n77.001 1\n91.0 1\n"), ion("b", peaks="x y\n")))
    assert found.rejections[0].detail == "3 before cleaning, 2 after"
    assert found.rejections[1].detail == "line 12: 'x y'"


def test_spectra_without_precursor(tmp_path):
    found = read(tmp_path, mgf(ion(mass=""), ion("b", mass="PEPMASS=0\n")), precursor=False)
    assert np.isnan(found.spectra.precursor_mz).all() and not found.rejections


def test_duplicate_ids_are_renamed(tmp_path):
    found = read(tmp_path, mgf(ion(), ion(), ion()))
    assert found.ids == ["a", "a#2", "a#3"]
    assert [(r.reason, r.action, r.detail) for r in found.rejections] == [
        ("duplicate id", "renamed", "a#2"),
        ("duplicate id", "renamed", "a#3"),
    ]


FATAL = [
    ("x,y\n1,2\n", "lib.mgf: no spectrum found (first line 'x,y'); is it an MGF file?"),
    ("", "lib.mgf: no spectrum found; is it an MGF file?"),
    ("\nBEGIN IONS\n77 1\nBEGIN IONS\n", "lib.mgf line 4: BEGIN IONS inside a spectrum that began on line 2."),
    ("BEGIN IONS\n77 1\n", "lib.mgf: the file ends inside the spectrum that began on line 1 (no END IONS)."),
    ("END IONS\n", "lib.mgf line 1: END IONS without BEGIN IONS."),
    ("BEGIN IONS\n77\0 1\nEND IONS\n", "lib.mgf line 2: NUL character; this is not a text file."),
    (
        mgf(ion(extra="IONMODE=positive\n"), ion("b", "IONMODE=Negative\n")),
        "lib.mgf: positive and negative ion mode (1 and 1 spectra); a model takes one mode, select it with "
        '`ion_mode="positive"` or `ion_mode="negative"`.',
    ),
]


@pytest.mark.parametrize(("text", "message"), FATAL)
def test_errors_have_one_line(tmp_path, text, message):
    with pytest.raises(ValueError) as error:
        read(tmp_path, text)
    assert str(error.value) == message


def test_one_ion_mode_of_two(tmp_path):
    text = mgf(ion(extra="IONMODE=positive\n"), ion("b", "ADDUCT=[M-H]-\n"), ion("c"))
    found = read(tmp_path, text, ion_mode="negative")
    assert found.ids == ["b", "c"] and reasons(found) == [("a", "other ion mode")] and found.ion_mode == "negative"


def test_latin_1_and_gzip(tmp_path):
    found = read(tmp_path, mgf(ion("\xe9")).encode("latin-1"))
    assert found.ids == ["é"] and [(r.what, r.reason, r.action) for r in found.rejections] == [
        ("file", "not UTF-8", "read as Latin-1")
    ]
    assert read(tmp_path, gzip.compress(mgf(ion()).encode()), "lib.mgf.gz").ids == ["a"]


def test_other_arguments(tmp_path):
    with pytest.raises(ValueError, match="mzML with msConvert"):
        read(tmp_path, "", "lib.raw")
    with pytest.raises(ValueError, match="empty"):
        read_spectra_files([])
    with pytest.raises(ValueError, match="ion_mode"):
        read(tmp_path, mgf(ion()), ion_mode="both")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_spectra_files(tmp_path / "none.mgf")


# -------------------------------------------------------------------------------------------------------------- MSP

MSP = """Name: benzaldehyde
PrecursorMZ: 107.049
Precursor_type: [M+H]+
Ion_mode: P
Collision_energy: 20 eV
Comments: "SMILES=O=Cc1ccccc1" "InChIKey=HUMNYLRZRPPJDN-UHFFFAOYSA-N"
Num Peaks: 3
51.023 10 "C4H3+"
77.039 100 "C6H5+"
79.054 60

NAME: b
PRECURSORMZ: 150.0
Num Peaks: 4
51.0 1; 77.0 2; 79.0 3;
91.0 4;
"""


def test_msp(tmp_path):
    found = read(tmp_path, MSP, "lib.msp")
    assert found.ids == ["benzaldehyde", "b"] and found.lines == (1, 12) and not found.rejections
    first = found.spectra[0]
    known = {"smiles": "O=Cc1ccccc1", "adduct": "[M+H]+", "collision_energy": "20 eV", "ion_mode": "positive"}
    assert known.items() <= first.metadata.items() and first.precursor_mz == 107.049
    np.testing.assert_allclose(first.mz, [51.023, 77.039, 79.054])
    assert len(found.spectra[1]) == 4


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Num Peaks: 3\n51 1\n77 2\n", "number of peaks"),
        ("Num Peaks: many\n51 1\n", "peaks not numeric"),
        ("Num Peaks: 2\n51 1\n77 x\n", "peaks not numeric"),
        ("", "no peaks"),
        ("Spectrum_type: MS1\nNum Peaks: 3\n51 1\n77 2\n79 1\n", "MS level 1"),
    ],
)
def test_rejected_in_msp(tmp_path, text, reason):
    found = read(tmp_path, f"Name: a\nPrecursorMZ: 150\n{text}\n{MSP}", "lib.msp")
    assert reasons(found) == [("a", reason)] and found.n_read == 3


def test_invalid_msp(tmp_path):
    with pytest.raises(ValueError) as error:
        read(tmp_path, "x\n", "lib.msp")
    assert str(error.value) == "lib.msp: no spectrum found (first line 'x'); is it an MSP file?"


# ------------------------------------------------------------------------------------------------------------ tables

COLUMNS = "identifier\tmzs\tintensities\tsmiles\tinchikey\tformula\tprecursor_mz\tadduct\tinstrument_type\tfold\n"


def test_the_columns_of_massspecgym(tmp_path):
    row = "MassSpecGymID1\t51.0,77.0,79.0\t0.1,1.0,0.5\tCC\tKEY\tC2H6\t91.05\t[M+H]+\tOrbitrap\ttrain\n"
    found = read(tmp_path, COLUMNS + row + "b\t51.0,77.0\tx\n", "lib.tsv")
    assert found.ids == ["MassSpecGymID1"] and found.lines == (2,) and reasons(found) == [("b", "peaks not numeric")]
    known = {"smiles": "CC", "formula": "C2H6", "instrument": "Orbitrap", "fold": "train", "ion_mode": "positive"}
    assert known.items() <= found.spectra[0].metadata.items() and found.spectra[0].precursor_mz == 91.05


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    path = tmp_path / "lib.parquet"
    rows = {"id": ["a", "b"], "mzs": [[51.0, 77.0, 79.0], [51.0]], "intensities": [[1.0, 2.0, 3.0], [1.0, 2.0]]}
    pd.DataFrame(rows | {"precursor_mz": [90.0, 91.0]}).to_parquet(path)
    found = read_spectra_files(path)
    assert found.ids == ["a"] and reasons(found) == [("b", "peaks not numeric")]


def test_a_table_without_peaks(tmp_path):
    with pytest.raises(ValueError) as error:
        read(tmp_path, "id\tname\n1\ta\n", "lib.tsv")
    assert str(error.value) == "lib.tsv: needs a column mzs, mz or m/z; it has id, name."


def test_annotations_join(tmp_path):
    table = tmp_path / "more.tsv"
    table.write_text("scan\tsmiles\tadduct\n7\tCCO\t[M+H]+\n8\tCC\t[M+H]+\n")
    found = read(tmp_path, mgf(f"SCANS=7\nPEPMASS=123\n{PEAKS}"), annotations=table)
    assert found.spectra[0].metadata["smiles"] == "CCO"
    table.write_text("what\nx\n")
    with pytest.raises(ValueError, match="needs a column scan"):
        read(tmp_path, mgf(ion()), annotations=table)


# -------------------------------------------------------------------------------------------------------------- mzML


def cv(accession, value=""):
    return f'<cvParam cvRef="MS" accession="{accession}" name="" value="{value}"/>'


def array(values, accession, dtype="<f8", packed=False):
    code = {"<f8": "MS:1000523", "<f4": "MS:1000521"}[dtype]
    raw = np.asarray(values, dtype=dtype).tobytes()
    coded = base64.b64encode(zlib.compress(raw) if packed else raw).decode()
    said = cv(code) + cv("MS:1000574" if packed else "MS:1000576") + cv(accession)
    return f"<binaryDataArray>{said}<binary>{coded}</binary></binaryDataArray>"


def mzml_spectrum(scan, level, mz, kind="MS:1000127", **how):
    ion = f"<selectedIonList><selectedIon>{cv('MS:1000744', 123.044)}</selectedIon></selectedIonList>"
    energy = f"<activation>{cv('MS:1000045', 30)}</activation>"
    precursor = f"<precursorList><precursor>{ion}{energy}</precursor></precursorList>" if level == 2 else ""
    heights = array(np.arange(1.0, len(mz) + 1), "MS:1000515", **how)
    return f"""<spectrum id="controllerType=0 scan={scan}" defaultArrayLength="{len(mz)}">
    <referenceableParamGroupRef ref="common"/>{cv("MS:1000511", level)}{cv(kind)}{precursor}
    <binaryDataArrayList>{array(mz, "MS:1000514", **how)}{heights}</binaryDataArrayList></spectrum>"""


def mzml(*spectra):
    group = f'<referenceableParamGroup id="common">{cv("MS:1000130")}</referenceableParamGroup>'
    head = f'<?xml version="1.0"?><mzML xmlns="http://psi.hupo.org/ms/mzml">{group}<run><spectrumList>'
    return f"{head}{''.join(spectra)}</spectrumList></run></mzML>"


def test_mzml(tmp_path):
    mz = [51.0, 77.0, 79.0]
    text = mzml(
        mzml_spectrum(1, 1, mz),
        mzml_spectrum(2, 2, mz),
        mzml_spectrum(3, 2, mz, "MS:1000128"),
        mzml_spectrum(4, 2, mz, dtype="<f4", packed=True),
        mzml_spectrum(5, 2, mz).replace("MS:1000576", "MS:1002312"),  # numpress
        mzml_spectrum(6, 2, mz).replace('defaultArrayLength="3"', 'defaultArrayLength="4"'),
        mzml_spectrum(7, 2, mz).replace("<binary>", "<binary>!"),
    )
    table = tmp_path / "more.tsv"
    table.write_text("scan\tsmiles\n2\tCCO\n")
    for name, content in (("run.mzML", text.encode()), ("run.mzML.gz", gzip.compress(text.encode()))):
        found = read(tmp_path, content, name, annotations=table)
        bad = [(str(scan), "peaks not numeric") for scan in (5, 6, 7)]
        assert found.ids == ["2", "4"] and found.n_read == 7 and found.ion_mode == "positive"
        assert reasons(found) == [("1", "MS level 1"), ("3", "profile data"), *bad]
        spectrum = found.spectra[0]
        assert spectrum.precursor_mz == 123.044 and spectrum.metadata["collision_energy"] == "30"
        assert spectrum.metadata["smiles"] == "CCO"
        for one in found.spectra:
            np.testing.assert_array_equal(one.mz, mz)


@pytest.mark.parametrize("bad", [b"<mzML><run>", b"no xml", b"<a/>", b""])
def test_invalid_mzml(tmp_path, bad):
    with pytest.raises(ValueError, match=r"bad.mzML.*mzML file"):
        read(tmp_path, bad, "bad.mzML")


def test_spectra_in_memory_are_cleaned_as_those_of_files(tmp_path):
    spectra = [
        ([50.0, 60.0, 70.0], [1.0, 2.0, 3.0], 80.0),
        {"mz": [50.0, 60.0, 70.0], "intensity": [1.0, 2.0, 3.0], "precursor_mz": 80.0, "id": "b", "smiles": "CCO"},
        ([50.0], [1.0], 80.0),
    ]
    found = read_spectra_files(spectra)
    assert found.ids == ["1", "b"]
    assert found.n_read == 3
    assert [(r.id, r.reason) for r in found.rejections] == [("3", "too few peaks")]
    assert found.spectra[0].intensity.max() == 1.0
    again = read_spectra_files(found.spectra)
    assert again.ids == found.ids
    assert again.spectra[1] == found.spectra[1]


def test_a_frame_of_spectra_and_of_annotations():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"identifier": ["a"], "mzs": ["50,60,70"], "intensities": [[1.0, 2.0, 3.0]], "precursor_mz": [80.0]}
    )
    more = pd.DataFrame({"ID": ["a"], "adduct": ["[M+H]+"], "formula": [None]})
    found = read_spectra_files(frame, annotations=more)
    assert found.ids == ["a"]
    assert found.ion_mode == "positive"
    assert found.spectra.values("formula") == [None]
    assert found.paths == ()
