"""What the gateway and the process that reads folders say to each other."""

from msgspec import Struct

from tapui.core.effects import FileIsBack, FilePlace, FolderCompared
from tapui.core.proof.folder_states import FolderState, StatePair
from tapui.runtime.children.lines import LineCodec
from tapui.wire.changes import ChangeNote, DiffHunk


class Look(Struct, tag="look", frozen=True):
    """Look at the repository that `folder` lies in, and at those within it, for `seconds`.

    `bases` has the trees, by root, with which they are compared; HEAD's for other roots. The answer
    is `Looked` of the same `id`. One that `gives_way` ends when anything else is asked.
    """

    id: int
    folder: str
    bases: dict[str, str] = {}
    seconds: float = 0.05
    gives_way: bool = False


class Looked(Struct, tag="looked", frozen=True):
    """The states of the roots, the folder's own first."""

    id: int
    states: tuple[FolderState, ...]


class Compare(Struct, tag="compare", frozen=True):
    """Compare repositories with what they were, or one file; the answer is `Compared`."""

    id: int
    pairs: tuple[StatePair, ...]
    file: FilePlace | None = None
    notes: tuple[ChangeNote, ...] = ()
    seconds: float = 2.0


class Compared(Struct, tag="compared", frozen=True):
    """What a comparison found."""

    id: int
    found: FolderCompared


class PutBack(Struct, tag="put back", frozen=True):
    """Put a file or a hunk back: the answer is `IsBack`. Nothing else here writes into a folder.
    What was there is kept in the folder `kept_in`."""

    id: int
    pair: StatePair
    file: FilePlace
    state_id: str
    hunk: DiffHunk | None = None
    seconds: float = 2.0
    kept_in: str = ""


class IsBack(Struct, tag="is back", frozen=True):
    """What was put back."""

    id: int
    found: FileIsBack


Question = Look | Compare | PutBack
Answer = Looked | Compared | IsBack
AT_GATEWAY: LineCodec[Answer] = LineCodec(Answer, mends=True)
AT_READER: LineCodec[Question] = LineCodec(Question, mends=True)
