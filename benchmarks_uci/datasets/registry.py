"""The nine sets: what each is, where OpenML has it, and what its rows must be.

The content hash says what the rows are whatever their order; the order hash says that they
stand as in the published file, which the literature's splits count on. Means and standard
deviations of the inputs, and the names of all columns in the published order, are in
`fingerprints.json`.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CC_BY = "CC BY 4.0, as UCI states"


@dataclass(frozen=True)
class Spec:
    """One set of the table.

    Attributes
    ----------
    name, title, citation, licence : str
    n_rows, n_features : int
        Without the target and the excluded columns.
    target : str
        The name in published files and in the manifest format.
    openml_target : str
        The name at OpenML.
    target_mean, target_std : float
        The latter with divisor n.
    content_hash : str
        See `Dataset.content_hash`.
    order_hash : str
        The same of the rows in the order of the published file.
    openml_id : int or None
        None: no id is known.
    aliases : tuple of str, default=()
        Other headers that the target goes by. Case and punctuation do not matter in names.
    excluded : tuple of str, default=()
        Columns that are no inputs, under all their names: other targets, constants.
    folders : tuple of str, default=()
        Names of the set's folder in the classic layout, besides `name`.
    duplicate_rows : int, default=0
        Rows that repeat an earlier one, target included. They are kept, as in the literature, so
        that a random split may have the same row on both sides.
    note : str, default=""
    """

    name: str
    title: str
    citation: str
    licence: str
    n_rows: int
    n_features: int
    target: str
    openml_target: str
    target_mean: float
    target_std: float
    content_hash: str
    order_hash: str
    openml_id: int | None
    aliases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    duplicate_rows: int = 0
    note: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns in the order of the published file."""
        return tuple(_fingerprints()[self.name]["columns"])

    @property
    def features(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation (divisor n) of each input, in order."""
        return {name: tuple(pair) for name, pair in _fingerprints()[self.name]["features"].items()}


@cache
def _fingerprints() -> dict:
    return json.loads(Path(__file__).with_name("fingerprints.json").read_text("utf-8"))


SETS: dict[str, Spec] = {
    spec.name: spec
    for spec in [
        Spec(
            name="boston",
            title="Boston housing",
            citation=(
                "Harrison, D. and Rubinfeld, D. L. (1978). Hedonic housing prices and the "
                "demand for clean air. Journal of Environmental Economics and Management 5(1), "
                "81-102."
            ),
            licence=(
                "none stated; StatLib (Carnegie Mellon University), redistributed by R and mlxtend"
            ),
            n_rows=506,
            n_features=13,
            target="MEDV",
            openml_target="MEDV",
            target_mean=22.5328063,
            target_std=9.18801155,
            content_hash="11fcd6dc7ab2af7f9088a14842b83b1168ad2421d32858123568f21cd6ede51f",
            order_hash="c8a54113c8b973797b43e34edefaeb4fcaca6935f5c842e593963d3b7347bd90",
            openml_id=531,
            folders=("bostonHousing",),
            note=(
                "Column B was built from the share of Black residents, on the premise that it "
                "moves prices; scikit-learn removed the set for that. It is here only because "
                "published results are. OpenML gives CHAS and RAD as nominal."
            ),
        ),
        Spec(
            name="concrete",
            title="Concrete compressive strength",
            citation=(
                "Yeh, I.-C. (1998). Modeling of strength of high-performance concrete using "
                "artificial neural networks. Cement and Concrete Research 28(12), 1797-1808. "
                "doi:10.24432/C5PK67"
            ),
            licence=_CC_BY,
            n_rows=1030,
            n_features=8,
            target="compressive_strength",
            openml_target="strength",
            target_mean=35.8179612,
            target_std=16.6976304,
            content_hash="f31ae50f6ade244e6684c83a1ee4b7350c215a59e0f892d7332246a5699376f5",
            order_hash="a6bf9d4158577a937a00577c379fee3a67d195cab615c65e1dad669b851a6954",
            openml_id=44959,
            aliases=(
                "Concrete compressive strength(MPa, megapascals)",
                "Concrete_compressive_strength",
            ),
            duplicate_rows=25,
            note=(
                "UCI's Concrete_Data.xls has the target with more digits than the published two "
                "decimals, and so another content hash."
            ),
        ),
        Spec(
            name="energy",
            title="Energy efficiency",
            citation=(
                "Tsanas, A. and Xifara, A. (2012). Accurate quantitative estimation of energy "
                "performance of residential buildings using statistical machine learning tools. "
                "Energy and Buildings 49, 560-567."
            ),
            licence=_CC_BY,
            n_rows=768,
            n_features=8,
            target="heating_load",
            openml_target="heating_load",
            target_mean=22.3072005,
            target_std=10.0836245,
            content_hash="30e9809afefdb024ed2d7a2bdc716709f8aa9034a5a863c06cff9c945d0baffd",
            order_hash="30cc2d5e73c1313f280383c5c2e7a19504944a3f0e397bc700749c4df7a75a2a",
            openml_id=44960,
            aliases=("Y1",),
            excluded=("cooling_load", "Y2"),
            note="The target is the heating load; the cooling load is left out.",
        ),
        Spec(
            name="kin8nm",
            title="Kinematics of an eight-link robot arm",
            citation=("Rasmussen, C. E. et al. (1996). The DELVE manual. University of Toronto."),
            licence='none stated (DELVE); OpenML: "Public"',
            n_rows=8192,
            n_features=8,
            target="y",
            openml_target="y",
            target_mean=0.714283492,
            target_std=0.263590706,
            content_hash="66739b8e0400a3861224857841cb4fc2405860c2840070edfa227db64cd6878c",
            order_hash="17de109fd4c049dfc89f0fe7c08f232357abd97955d23b57305bf625bdca13fe",
            openml_id=44980,
        ),
        Spec(
            name="naval",
            title="Naval propulsion plant",
            citation=(
                "Coraddu, A. et al. (2016). Machine learning approaches for improving "
                "condition-based maintenance of naval propulsion plants. Journal of Engineering "
                "for the Maritime Environment 230(1), 136-153."
            ),
            licence=_CC_BY,
            n_rows=11934,
            n_features=14,
            target="compressor_decay",
            openml_target="gt_compressor_decay_state_coefficient",
            target_mean=0.975,
            target_std=0.0147196014,
            content_hash="f6240f108d7579f36dc8e17fee30b59114a3481dee2550b9b30d08485313b725",
            order_hash="d6ab4e60ede1335553044e5145d60a8db299075b7139c1a6315475a30e9f8a61",
            openml_id=44969,
            excluded=(
                "turbine_decay",
                "gt_turbine_decay_state_coefficient",
                "gt_compressor_inlet_temperature",
                "gt_compressor_inlet_air_temperature",
                "T1",
                "gt_compressor_inlet_pressure",
                "gt_compressor_inlet_air_pressure",
                "P1",
            ),
            folders=("naval-propulsion-plant",),
            note=(
                "The target is the compressor decay, the last column but one; the turbine decay "
                "and the two constant columns are left out. Both propeller torques are the same "
                "column."
            ),
        ),
        Spec(
            name="power",
            title="Combined cycle power plant",
            citation=(
                "Tüfekci, P. (2014). Prediction of full load electrical power output of a base "
                "load operated combined cycle power plant using machine learning methods. "
                "International Journal of Electrical Power & Energy Systems 60, 126-140."
            ),
            licence=_CC_BY,
            n_rows=9568,
            n_features=4,
            target="PE",
            openml_target="PE",
            target_mean=454.365009,
            target_std=17.0661031,
            content_hash="50718f55ee7a2883e875f3c5d01d35646a899e4d0a7ccf64ac38b2869b5d2b48",
            order_hash="b3a11f87c528f53133fe197b718eabb8c4eaf57aea69e3d861c5d8e75edb65d7",
            openml_id=None,
            folders=("power-plant",),
            duplicate_rows=41,
            note="No OpenML id is known: give the set in a folder.",
        ),
        Spec(
            name="protein",
            title="Physicochemical properties of protein tertiary structure",
            citation=(
                "Rana, P. S. (2013). Physicochemical properties of protein tertiary structure. "
                "UCI Machine Learning Repository. doi:10.24432/C5QW3H"
            ),
            licence=_CC_BY,
            n_rows=45730,
            n_features=9,
            target="RMSD",
            openml_target="RMSD",
            target_mean=7.74852843,
            target_std=6.11824478,
            content_hash="ca7195efe4a493c15732490d6d2600f90e6a44a8c4bf2b7fe3b1e985750ad07c",
            order_hash="bd41d93e67304819d0696f3845f09e5e586fe249902b5388fd4ffb12c7bd262e",
            openml_id=44963,
            folders=("protein-tertiary-structure",),
            duplicate_rows=1711,
            note="UCI's CASP.csv has the target first.",
        ),
        Spec(
            name="wine",
            title="Red wine quality",
            citation=(
                "Cortez, P. et al. (2009). Modeling wine preferences by data mining from "
                "physicochemical properties. Decision Support Systems 47(4), 547-553. "
                "doi:10.24432/C56S3T"
            ),
            licence=_CC_BY,
            n_rows=1599,
            n_features=11,
            target="quality",
            openml_target="quality",
            target_mean=5.63602251,
            target_std=0.807316877,
            content_hash="ec99a7ea4ec70861455dba71f38db9bcdf3f072ef9a3be4af3b839586cbc0ee5",
            order_hash="567628421f38b0c90946e45d64962cd3b8492294cfc5edfd1c899f97d46159c9",
            openml_id=44972,
            folders=("wine-quality-red",),
            duplicate_rows=240,
            note="Red wines alone; the target takes six whole numbers.",
        ),
        Spec(
            name="yacht",
            title="Yacht hydrodynamics",
            citation=(
                "Gerritsma, J., Onnink, R. and Versluis, A. (1981). Geometry, resistance and "
                "stability of the Delft systematic yacht hull series. International "
                "Shipbuilding Progress 28, 276-297."
            ),
            licence=_CC_BY,
            n_rows=308,
            n_features=6,
            target="residuary_resistance",
            openml_target="Residuary.resistance",
            target_mean=10.4953571,
            target_std=15.1358589,
            content_hash="0882fb8c29e26a0f1268952069e7d77ce8f43a61c9585137a592705d0efbdf37",
            order_hash="9094835a50254fe3c7a325f1c3dee71dbda663bbd36f7015789a24b753147de2",
            openml_id=42370,
        ),
    ]
}
NAMES = tuple(SETS)


def find(name: str) -> Spec:
    """The set of that name; ValueError with the names that exist if there is none."""
    if name not in SETS:
        near = difflib.get_close_matches(str(name), SETS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(SETS)}.{hint}")
    return SETS[name]
