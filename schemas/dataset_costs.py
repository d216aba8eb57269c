"""``costs.parquet``: what a dataset costs by each model, by group and in all."""

from collections.abc import Sequence

import pyarrow as pa

from schemas.columns import column, table_schema

PRICE = pa.decimal128(38, 18)
"""US dollars a million tokens, or a thousand requests."""
COST = pa.decimal128(38, 24)
"""US dollars; exact for every price of 18 decimal places."""

_TOKENS = "tokens"
_PER_MILLION = "US dollars per million tokens"

TIER = pa.struct(
    [
        pa.field("over", pa.int64(), nullable=False),
        pa.field("requests", pa.int64(), nullable=False),
        pa.field("input_tokens", pa.int64(), nullable=False),
        pa.field("cached_tokens", pa.int64(), nullable=False),
        pa.field("output_tokens", pa.int64(), nullable=False),
        pa.field("input_price", PRICE, nullable=False),
        pa.field("cached_price", PRICE, nullable=False),
        pa.field("output_price", PRICE),
        pa.field("total_cost", COST, nullable=False),
    ]
)

_MODEL = [
    column("model", pa.string(), meaning="The model, as it was asked for.", unit="model name"),
    column("priced_as", pa.string(), meaning="Provider and model in the price source.", unit="provider/model"),
    column("tokenizer", pa.string(), meaning="Whose tokens were priced.", unit="name of a count"),
    column(
        "estimate",
        pa.bool_(),
        meaning="The tokens are not known to be the model's own: a stand-in's, or counted by no published rule.",
        unit="yes or no",
    ),
    column("whole", pa.bool_(), meaning="The row stands for all documents, not for a group.", unit="yes or no"),
]

_FIGURES = [
    column("requests", pa.int64(), meaning="Requests: a document is one, empty ones too.", unit="requests"),
    column("input_tokens", pa.int64(), meaning="Input, with prompts and cached tokens.", unit=_TOKENS),
    column("cached_tokens", pa.int64(), meaning="Those of them that the provider's cache holds.", unit=_TOKENS),
    column("output_tokens", pa.int64(), meaning="Output.", unit=_TOKENS),
    column("input_price", PRICE, meaning="Of input, in the lowest tier.", unit=_PER_MILLION),
    column("cached_price", PRICE, meaning="Of cached input, in the lowest tier.", unit=_PER_MILLION),
    column(
        "output_price",
        PRICE,
        meaning="Of output, in the lowest tier; null for a model that is not sold by output.",
        unit=_PER_MILLION,
        nullable=True,
    ),
    column("request_price", PRICE, meaning="Of the requests themselves.", unit="US dollars per thousand requests"),
    column("input_cost", COST, meaning="Of input that no cache held, all tiers together.", unit="US dollars"),
    column("cached_cost", COST, meaning="Of cached input.", unit="US dollars"),
    column("output_cost", COST, meaning="Of output.", unit="US dollars"),
    column("request_cost", COST, meaning="Of the requests themselves.", unit="US dollars"),
    column("total_cost", COST, meaning="All costs together.", unit="US dollars"),
    column(
        "tiers",
        pa.list_(pa.field("element", TIER, nullable=False)),
        meaning="The row's requests by length, a struct a price tier: a request with more than `over` input tokens "
        "pays the tier's prices for all its tokens.",
        unit="tiers",
    ),
    column(
        "batch",
        pa.string(),
        meaning="provider: its batch prices; discount D: the others, less that share; null: not in a batch.",
        unit="text",
        nullable=True,
    ),
    column("price_source", pa.string(), meaning="Where the prices are from, with its version.", unit="text"),
    column("price_date", pa.timestamp("ms", tz="UTC"), meaning="The moment the prices hold for.", unit="UTC"),
]


def dataset_costs(groups: Sequence[str]) -> pa.Schema:
    """Give the schema of a dataset with these group columns, named as `group_columns` says."""
    return table_schema(
        "costs",
        [
            *_MODEL,
            *(
                column(name, pa.string(), meaning="The group's --group-by field.", unit="text", nullable=True)
                for name in groups
            ),
            *_FIGURES,
        ],
        meaning="A row is a model and a group; a model's first one is the whole dataset, where group fields are null. "
        "Sorted by the models as they were asked for, then by the group fields, null first.",
    )


def group_columns(documents: Sequence[str]) -> tuple[str, ...]:
    """Give the column of each group column of ``documents/``: its name, or ``group_NAME`` where that is taken here."""
    taken = {field.name for field in [*_MODEL, *_FIGURES]}
    return tuple(f"group_{name}" if name in taken else name for name in documents)
