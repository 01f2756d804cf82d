"""A fit to a table on disk: the same plan, network and training step as in memory, with rows that come in windows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError, SettingError
from ..files import own_folder
from ..likelihood import Observations
from ..model import Architecture
from ..preprocessing import TabularPreprocessor, apply_preprocessor
from ..preprocessing.merging import preprocessor_of
from ..streaming import TableSource
from ..streaming.blocks import RowBlock, join_blocks
from ..streaming.reading import SliceReader, read_ahead
from ..streaming.scan import Scan, Shares, held_out_rows
from ..streaming.schedule import Slice, plan_windows
from ..training import Callback, Checkpoint, Data, Fit, Job, Ranks, StreamFleet, Window, trains_alone, warm_start
from .automatic import resolved, used
from .fleets import check_finite
from .inputs import single_precision, training_rows
from .plan import OWN_SETTINGS, Plan, Sample, architecture_of, member_seeds, train_config
from .progress import row_bar
from .settings import check_memory, choose_device, root_seed
from .timescale import TimeScale

__all__ = ["fit_source", "log_likelihood_of", "refuse_beside_source"]

_MOST_HELD_OUT = 2**18  # rows
_MOST_NUMBERS = 2**25  # of held-out rows, in single precision
_SAMPLE = 2**17  # rows
_SAMPLE_NUMBERS = 2**24


@dataclass(frozen=True, eq=False)
class _Inputs:
    """From blocks to what the network is trained on."""

    preprocessor: Any
    scale: TimeScale
    mean_weight: float
    kinds: tuple[bool, bool, bool]  # whether any row of the table has an interval, a late entry, time 0

    def data(self, block: RowBlock) -> Data:
        """Return inputs and outcomes of some rows."""
        matrix = apply_preprocessor(self.preprocessor, block.table(), columns_required=False, single=True)
        observed = self.scale.observe(block.outcome, block.weight / self.mean_weight, torch.float32)
        return Data(single_precision(matrix), _with_kinds(observed, self.kinds))

    def nothing(self, n_inputs: int) -> Data:
        """Return no rows."""
        empty = torch.empty(0)
        observed = Observations(torch.empty(0, dtype=torch.long), empty, empty, empty)
        return Data(torch.empty(0, n_inputs), _with_kinds(observed, self.kinds))


def _with_kinds(observed: Observations, kinds: tuple[bool, bool, bool]) -> Observations:
    """Return rows with the fields that other rows of the table need: where there is nothing, they say so."""
    interval, truncated, at_origin = kinds
    no = torch.zeros_like(observed.time, dtype=torch.bool)
    if interval and observed.interval is None:
        observed = replace(observed, interval=no, upper=2 * observed.time)
    if truncated and observed.truncated is None:
        observed = replace(observed, truncated=no, entry=observed.time)
    if at_origin and observed.at_origin is None:
        observed = replace(observed, at_origin=no)
    return observed


def _taken(parts: Sequence[tuple[Data, Tensor]]) -> Data:
    """Return some rows of each part, one part behind the other."""
    first = parts[0][0]
    ends = np.cumsum([len(rows) for _, rows in parts]).tolist()
    x = first.x.new_empty(ends[-1], first.x.shape[1])
    for (part, rows), end in zip(parts, ends, strict=True):
        torch.index_select(part.x, 0, rows, out=x[end - len(rows) : end])
    names = [name for name, value in vars(first.observed).items() if value is not None]
    joined = {name: torch.cat([getattr(part.observed, name)[rows] for part, rows in parts]) for name in names}
    return Data(x, Observations(**joined))


@dataclass(frozen=True, eq=False)
class _SourceStream:
    """The windows of a source, of those lanes that this process runs."""

    source: TableSource
    piece_rows: list[int]
    inputs: _Inputs
    shares: Shares
    lanes: int
    own: range
    device: torch.device

    @property
    def rows(self) -> int:
        """Rows of an epoch."""
        return sum(self.piece_rows)

    def windows(self, epoch: int, first: int) -> Iterator[Window]:
        """Yield the windows of an epoch, the next one read while one is trained on."""
        reader = self.source.reader()
        planned = plan_windows(self.piece_rows, self.lanes, self.source.window_rows, self.shares.seed, epoch)
        numbered = list(enumerate(planned))[first:]
        for window in read_ahead(self._window(reader, number, lanes) for number, lanes in numbered):
            yield replace(window, lanes=[(lane, data.to(self.device)) for lane, data in window.lanes])

    def _window(self, reader: SliceReader, number: int, lanes: Sequence[list[Slice]]) -> Window:
        rows = sum(part.stop - part.start for lane in lanes for part in lane)
        own = [(lane, self._lane(reader, lane, lanes[lane])) for lane in self.own]
        return Window(number, own, rows, rows * self.source.kept * (1 - self.shares.held_out))

    def _lane(self, reader: SliceReader, lane: int, slices: Sequence[Slice]) -> Data:
        """Read the training rows of a lane; where there are none, one row of weight 0."""
        kept, spare = [], None
        for part in slices:
            block = reader.read(part, lane)
            rows = _training_rows(block, self.shares)
            if len(rows):
                kept.append((self.inputs.data(block), torch.from_numpy(rows)))
            elif len(block):
                spare = self.inputs.data(block.take(slice(0, 1)))
        if kept:
            return _taken(kept)
        if spare is None:
            raise InputError("too few rows: a process has none to train on. Use fewer processes or lanes.")
        return Data(spare.x, spare.observed.reweighted(0 * spare.observed.weight))


def _training_rows(block: RowBlock, shares: Shares) -> Any:
    """Return the rows to train on: those that are not held out, and that say anything."""
    if not len(block):
        return np.empty(0, dtype=np.intp)
    target = block.outcome
    usable = (target.time > 0) | (target.event > 0)
    return np.flatnonzero(usable & ~held_out_rows(block, shares.held_out, shares.seed))


def refuse_beside_source(**given: Any) -> None:
    """Refuse what a source says itself."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise SettingError(
            f"a TableSource names outcome, weights and subjects itself; got {', '.join(named)} too. Leave out what is "
            "given beside it: TableSource(path, time=..., event=..., weight=..., subject=...)."
        )


@dataclass(frozen=True)
class _Division:
    """What this process does: some lanes of all members, or, with a source of one lane, all rows for some members."""

    ranks: Ranks
    lanes: int
    by_members: bool

    @classmethod
    def of(cls, ranks: Ranks, lanes: int | None, n_members: int) -> _Division:
        """Return the division of a fit."""
        by_members = ranks.size > 1 and lanes == 1
        found = cls(ranks, lanes or ranks.size, by_members)
        what, parts = ("n_members", n_members) if by_members else ("lanes", found.lanes)
        if parts % ranks.size:
            raise SettingError(f"{what} must be a multiple of the number of processes; got {parts} and {ranks.size}.")
        return found

    @property
    def own_lanes(self) -> range:
        """The lanes that this process runs."""
        return range(1) if self.by_members else self._own(self.lanes)

    @property
    def together(self) -> Ranks:
        """The processes that share the batches of this one."""
        return Ranks() if self.by_members else self.ranks

    def own_jobs(self, jobs: list[Job]) -> list[Job]:
        """Return the members that this process trains."""
        return [jobs[number] for number in self._own(len(jobs))] if self.by_members else jobs

    def held_out(self, own: RowBlock | None) -> RowBlock | None:
        """Return the held-out rows that this process evaluates."""
        if not self.by_members:
            return own
        parts = [part for part in self.ranks.gather(own) if part is not None]
        return join_blocks(parts) if parts else None

    def all_fits(self, fits: list[Fit]) -> list[Fit]:
        """Return the fits of all members."""
        return [fit for part in self.ranks.gather(fits) for fit in part] if self.by_members else fits

    def _own(self, count: int) -> range:
        each = count // self.ranks.size
        return range(self.ranks.rank * each, (self.ranks.rank + 1) * each)


def fit_source(estimator: Any, source: TableSource) -> tuple[Any, Plan, list[Fit], tuple[Architecture, ...]]:
    """Fit a model to a source; return a sample of its table, and what a fit in memory gives."""
    estimator._check_settings()
    _check_streamable(estimator, source)
    device = Ranks.own_device(choose_device(estimator.device))
    ranks = Ranks.current(device)
    root = ranks.gather(root_seed(estimator.random_state))[0]
    shares = _shares(estimator, source, int(np.random.SeedSequence(root).generate_state(1)[0]))
    rules = estimator.preprocessor if isinstance(estimator.preprocessor, TabularPreprocessor) else TabularPreprocessor()
    scan, own = _scan(source, shares, int(rules.max_levels), ranks)
    sample = scan.sampled()
    scan.sample.clear()
    estimator = resolved(estimator, scan.rows)
    division = _Division.of(ranks, source.lanes, int(estimator.n_members))
    plan = _plan(estimator, scan, sample, division.held_out(own), device, root)
    del own
    stream = _SourceStream(
        source,
        [scan.piece_rows.get(number, 0) for number in range(len(source.pieces))],
        _Inputs(plan.preprocessor, plan.scale, scan.weight / scan.rows, _kinds(sample)),
        shares,
        division.lanes,
        division.own_lanes,
        device,
    )
    jobs, identity = division.own_jobs(plan.jobs), _identity(source, scan, division.lanes)
    fleet = StreamFleet(plan.architecture, plan.data, jobs, plan.config, stream, division.together, identity)
    fits = division.all_fits(_train(fleet, estimator, division))
    return sample.frame(), plan, fits, (plan.architecture,)


def _identity(source: TableSource, scan: Scan, lanes: int) -> str:
    """Return a hash of the table, however many processes have read it: statistics of theirs differ by rounding."""
    numbers = scan.statistics.numbers
    means = [f"{value:.9g}" for values in (numbers.mean, numbers.squares, numbers.seen) for value in values.tolist()]
    levels = [sorted(one.counts.items()) for one in scan.statistics.labels.values()]
    facts = [source.fingerprint(), lanes, scan.rows, f"{scan.weight:.9g}", asdict(scan.shares), means, levels]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _check_streamable(estimator: Any, source: TableSource) -> None:
    if source.roles.time is None:
        raise InputError("a fit needs the outcome: TableSource(path, time=..., event=...).")
    if estimator.encoder is not None:
        raise SettingError("encoder= needs a table in memory; got a TableSource. Use hidden=(...).")
    if trains_alone(estimator.optimizer) and (estimator.n_members or 1) > 1:
        raise SettingError("an optimiser class trains one member from disk; got n_members > 1. Use optimizer='adam'.")
    if estimator.rounding:
        raise SettingError(
            f"rounding={estimator.rounding:g} needs a table in memory; got a TableSource. Use rounding=0, and name the "
            "column of upper ends in the source."
        )
    known = estimator.preprocessor in ("auto", None) if not hasattr(estimator.preprocessor, "fit") else False
    if not known and not isinstance(estimator.preprocessor, TabularPreprocessor):
        raise SettingError(
            f"preprocessor must be 'auto', None or a TabularPreprocessor with a TableSource; got "
            f"{type(estimator.preprocessor).__name__}. Others need the whole table in memory."
        )


def _shares(estimator: Any, source: TableSource, seed: int) -> Shares:
    """Return the share of rows to hold out: that of the estimator, or less where so many are not needed."""
    rows, columns = max(source.n_rows, 1), len(source.columns)
    most = min(_MOST_HELD_OUT, _MOST_NUMBERS // columns)
    sample = min(_SAMPLE, _SAMPLE_NUMBERS // columns)
    return Shares(min(float(estimator.validation_fraction), most / rows), min(1.0, sample / rows), seed)


def _scan(source: TableSource, shares: Shares, max_levels: int, ranks: Ranks) -> tuple[Scan, RowBlock | None]:
    """Read the table once, each process a part; return the scan of all of it and the own held-out rows."""
    own = source.scan(shares, max_levels, ranks.rank, ranks.size)
    held_out = own.held_out_block()
    own.held_out = []
    first, *others = ranks.gather(own)
    for other in others:
        first.merge(other)
    if first.paths is not None:
        first.paths.finish()
    if not first.rows:
        raise InputError("the source has no rows of positive weight with an outcome; expected some. Check the columns.")
    return first, held_out


def _kinds(sample: RowBlock) -> tuple[bool, bool, bool]:
    """Tell which odd rows the table has; the sample has one of each sort."""
    target = sample.outcome
    at_origin = bool((target.time == 0).any())
    interval = bool(target.interval.any()) or bool(((target.time == 0) & (target.event > 0)).any())
    return interval, bool(target.truncated.any()), at_origin


def _plan(estimator: Any, scan: Scan, sample: RowBlock, own: RowBlock | None, device: torch.device, root: int) -> Plan:
    """Do all that is done before training."""
    frame, target, weight = training_rows(sample.frame(), sample.outcome, sample.weight, estimator.t_max)
    preprocessor = preprocessor_of(estimator.preprocessor, scan.statistics, sample.numbers)
    scale = TimeScale.learn(target)
    scale.check(target)
    matrix = single_precision(apply_preprocessor(preprocessor, frame[:2], columns_required=False, single=True))
    architecture = architecture_of(estimator, matrix, target.n_events)
    check_memory(estimator, architecture.n_inputs, architecture.layout.size)
    inputs = _Inputs(preprocessor, scale, scan.weight / scan.rows, _kinds(sample))
    usable = np.flatnonzero((target.time > 0) | (target.event > 0))
    begin = warm_start(architecture.family, scale.observe(target.take(usable), weight[usable]), architecture.n_events)
    held_out = None if own is None else own.take(np.flatnonzero((own.outcome.time > 0) | (own.outcome.event > 0)))
    data = (inputs.data(held_out) if held_out else inputs.nothing(architecture.n_inputs)).to(device)
    jobs = _jobs(estimator, root, begin, len(data.x), scan.shares.held_out > 0)
    rows = Sample(matrix.numpy()[:0], target, weight)
    return Plan(preprocessor, rows, scale, architecture, data, jobs, train_config(estimator, scale), used(estimator))


def _jobs(estimator: Any, root: int, begin: Tensor, n_held_out: int, held_out: bool) -> list[Job]:
    """Return one job per member; all hold out the same rows, which are the data in memory."""
    settings: dict[str, Any] = {name: float(getattr(estimator, name)) for name in OWN_SETTINGS}
    rows = torch.arange(max(n_held_out, 1) if held_out else 0)
    seeds = member_seeds(root, estimator.n_members)
    return [Job(torch.arange(0), rows, begin, seed, **settings) for seed in seeds]


def _train(fleet: StreamFleet, estimator: Any, division: _Division) -> list[Fit]:
    """Train, with checkpoints: of members those of each process, else one that the first writes and all read."""
    first = division.ranks.rank == 0
    hooks: list[Callback] = [*(estimator.callbacks or ())] if first else []
    folder = None if estimator.checkpoint is None else Path(estimator.checkpoint)
    with own_folder(folder, "checkpoint") if folder is not None and first else nullcontext():
        checkpoint = None
        if folder is not None:
            number = division.ranks.rank if division.by_members else 0
            name = folder / f"lifemix-checkpoint-{number}.safetensors"
            checkpoint = Checkpoint(name, fleet, writes=first or division.by_members)
            checkpoint.restore(fleet)
            hooks.insert(0, checkpoint)
        _check_together(fleet, division.together)
        with row_bar(bool(estimator.verbose) and first) as bar:
            fits = fleet.train([*hooks, bar])
        check_finite(fits)
        if checkpoint is not None:
            checkpoint.remove()
    return fits


def _check_together(fleet: StreamFleet, ranks: Ranks) -> None:
    """Refuse to go on from different places."""
    places = set(ranks.gather((fleet.epoch, fleet.window, fleet.optimizer.steps)))
    if len(places) > 1:
        raise InputError(
            f"all processes must begin from the same checkpoint; got epochs and windows {sorted(places)}. Let "
            "checkpoint be a folder that every machine can read."
        )


def log_likelihood_of(model: Any, source: TableSource) -> float:
    """Return the log-likelihood of all rows of a source, by their weights."""
    total = 0.0
    for _, block in source.raw_blocks():
        if len(block):
            total += model.log_likelihood(block.frame(), block.outcome, block.weight)
    return total
