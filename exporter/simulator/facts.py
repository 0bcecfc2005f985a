"""What the vendors' documentation leaves open: each doubt once, with every behaviour it allows."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Facts(BaseModel):
    """The doubtful facts and the behaviour chosen for each.

    Every field is one fact; its first choice is what the documentation pages say or show, and is
    the default. A consumer of these APIs has to be right under all of them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scp_count: Literal["total", "page", "null", "absent"] = Field(
        default="total",
        description="`count` of a list: of all rows that match, of this page, null, or left out",
    )
    scp_size: Literal["honoured", "capped", "refused", "ignored", "everything"] = Field(
        default="honoured",
        description="a `size` above 100: honoured, capped to 100, or refused with 400; or any"
        " `size` ignored for the default of 20, or every row given on every page",
    )
    scp_order: Literal["stable", "changing"] = Field(
        default="stable",
        description="rows without `sort`: always in one order, or in another on every request",
    )
    scp_node_pools: Literal["documented", "live"] = Field(
        default="documented",
        description="node pools asked for without a parameter: answered, or refused with 400",
    )
    scp_versions: Literal["page", "successor", "deprecated", "expired", "withdrawn"] = Field(
        default="page",
        description="1.2 is CURRENT; or 1.3 is, and 1.2 is SUPPORTED, DEPRECATED with a date to"
        " come, DEPRECATED with a date that has passed, or no longer listed",
    )
    scp_not_before: Literal["dashed", "compact"] = Field(
        default="dashed",
        description="dates of the version document: 2026-03-31, or 20260331 and -",
    )
    scp_times: Literal["zulu", "naive", "fraction", "spaced"] = Field(
        default="zulu",
        description="times of nodes, fabrics and products: 2024-05-17T00:23:17Z, without the Z,"
        " with a fraction, or 2024-05-17 00:23:17",
    )
    scp_image_priority: Literal["integer", "text"] = Field(
        default="integer",
        description="`priority` of an image: a number as in the example, or text as in the model",
    )
    scp_fabric_state: Literal["RUNNING", "ACTIVE"] = Field(
        default="RUNNING", description="the state of a fabric in order"
    )
    scp_terminated: Literal["gone", "listed"] = Field(
        default="gone",
        description="a node that was terminated: leaves the list at once, or stays in it as"
        " TERMINATED for a while",
    )
    scp_bad_signature: Literal["json", "text"] = Field(
        default="json", description="the body of a 401 for a bad signature"
    )
    nsml_total: Literal["total", "page", "absent"] = Field(
        default="total",
        description="`totalCount`: of all rows, of this page, or left out",
    )
    nsml_page_size: Literal["honoured", "capped"] = Field(
        default="honoured", description="a `pageSize` above 100: honoured, or capped to 100"
    )
    nsml_run_times: Literal["korean", "utc"] = Field(
        default="korean", description="the zone of a run's times, which name none"
    )
    nsml_tcp_ports: Literal["tcpPorts", "tcpProts"] = Field(
        default="tcpPorts", description="the field as the page's example, or its table, spells it"
    )
    nsml_run_detail: Literal["flat", "wrapped"] = Field(
        default="flat", description='one run: a bare object, or {"run": {…}}'
    )
    nsml_starting_ranks: Literal["absent", "pending"] = Field(
        default="absent",
        description="ranks that have not started: not listed, or listed as NODE_STATE_PENDING",
    )
    nsml_ended_nodes: Literal["listed", "empty", "missing"] = Field(
        default="listed",
        description="nodes of a run that is over: still listed, an empty list, or a 404",
    )
    nsml_errors: Literal["nested", "flat", "flat_number"] = Field(
        default="nested",
        description='{"error": {"errorCode": "210", …}}, the same without the outer object, or'
        " that with the code as a number",
    )
    nsml_content_type: Literal["application/json", "text/plain"] = Field(
        default="application/json", description="the content type of good JSON"
    )
