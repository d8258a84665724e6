"""The service over HTTP, by a real client."""

import json
import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

import radreward
from radreward.cli import main
from radreward.models.precision import Precision, has_bfloat16_products
from radreward.scoring import load_scorers, score_file
from radreward.serving.messages import ScoreAnswer
from radreward.text.patient_context import PatientContext
from tests.serving.conftest import MODELS, PAIR, Answer, Service, forked

REPORTS = (
    "Small left pleural effusion. No pneumothorax.",
    "Moderate right pleural effusion. The heart is enlarged.",
    "No acute findings. The lungs are clear.",
    "  Left\u00a0apical pneumothorax,\u2009large \u2013 new.\n\nNo effusion \U0001fac1. ",
    "I cannot help with that.",
)


@pytest.fixture(scope="module")
def pairs() -> list[dict[str, str]]:
    """Return pairs of reports, some without a score."""
    return [
        {"id": f"{i}{j}", "reference": reference, "candidate": candidate}
        for i, reference in enumerate(REPORTS[:4])
        for j, candidate in enumerate(REPORTS)
    ]


def test_scores_are_those_of_score_bit_for_bit(service: Service, pairs: list[dict[str, str]], tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    scorers = load_scorers(MODELS)
    score_file(scorers, tmp_path / "pairs.jsonl", tmp_path / "scores.jsonl", progress=False)
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    answer = service.score(pairs=pairs, models=MODELS)
    assert answer.status == 200
    for row, pair in zip(rows, answer.body["pairs"], strict=True):
        assert pair["id"] == row["id"]
        for name in MODELS:
            expected = {key.removeprefix(f"{name}_"): value for key, value in row.items() if key.startswith(f"{name}_")}
            scores = pair["scores"][name]
            got = {"total": scores["total"], "status": scores["status"], **scores["sub_scores"]}
            got |= {f"count_{tag}": count for tag, count in scores["error_counts"].items()}
            got |= {name: scores[name] for name in ("quality", "errors") if name in expected}
            assert got == expected


def test_age_and_indication_weigh_the_quality_as_in_python(service: Service) -> None:
    pair = {"reference": "Mild pulmonary edema. Aortic calcification.", "candidate": "Mild pulmonary edema."}
    pairs = [pair, {**pair, "age": "80 years", "indication": "Cough."}, {**pair, "age": 30}]
    answer = service.score(pairs=pairs, models=["ratescore"])
    contexts = [None, PatientContext(80.0, "Cough."), PatientContext(30.0)]
    expected = (
        radreward.load("ratescore").score([pair["reference"]] * 3, [pair["candidate"]] * 3, contexts=contexts).quality
    )
    quality = [entry["scores"]["ratescore"]["quality"] for entry in answer.body["pairs"]]
    assert expected is not None
    assert quality == pytest.approx(expected.tolist(), abs=1e-6)
    assert quality[1] > quality[2]


def close(value: Any, other: Any) -> bool:
    """Return True for equal JSON values; numbers may differ by rounding, because requests are scored together.

    Rewards have four decimals, of which the last one may differ, and a total is their sum.
    """
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(close(value[key], other[key]) for key in value)
    if isinstance(value, list):
        return len(value) == len(other) and all(map(close, value, other))
    return bool(value == (pytest.approx(other, abs=5e-4) if isinstance(other, float) else other))


def test_200_requests_16_at_once_get_their_own_scores(service: Service, pairs: list[dict[str, str]]) -> None:
    expected = [service.score(pairs=[pair], models=["er2score"]).body for pair in pairs]
    assert len({json.dumps(body["pairs"][0]["scores"]) for body in expected}) > 10

    def ask(number: int) -> bool:
        answer = service.score(pairs=[pairs[number % 20]], models=["er2score"])
        return answer.status == 200 and close(answer.body, expected[number % 20])

    with ThreadPoolExecutor(16) as clients:
        assert all(clients.map(ask, range(200)))


def test_evidence_has_findings_at_their_place_in_the_texts(service: Service) -> None:
    pair = {"reference": "  Small\nleft\u2009effusion \U0001fac1. No edema.", "candidate": "No edema. Rib fracture."}
    [answer] = service.score(pairs=[pair], models=["ratescore", "sentence-eval"], evidence=True).body["pairs"]
    assert answer["texts"]["reference"] == "Small left effusion \U0001fac1. No edema."
    for scores in answer["scores"].values():
        kinds = {(finding["side"], finding["kind"]) for finding in scores["findings"]}
        assert kinds == {
            ("reference", "missed"), ("reference", "matched"), ("candidate", "matched"), ("candidate", "invented")
        }  # fmt: skip
        for finding in scores["findings"]:
            assert answer["texts"][finding["side"]][finding["start"] : finding["end"]] == finding["text"]


def test_models_describe_totals_as_they_are_returned(service: Service) -> None:
    models = {model["name"]: model for model in service.request("GET", "/models").body}
    assert list(models) == [*MODELS, "Failing"]
    assert models["ratescore"]["total_range"] == [0, 1]
    assert models["ratescore"]["title"] == "RaTEScore"
    criteria = radreward.load("er2score").criteria
    assert criteria is not None
    assert models["er2score"]["criteria"] == criteria.to_dict()
    assert models["ratescore"]["criteria"] is None


def test_openapi_describes_requests_answers_and_errors(service: Service) -> None:
    document = service.request("GET", "/openapi.json").body
    assert set(document["paths"]) == {"/score", "/models", "/health"}
    operation = document["paths"]["/score"]["post"]
    assert {"200", "400", "408", "413", "415", "421", "422", "500", "503", "504"} == set(operation["responses"])
    assert document["components"]["schemas"]["PairRequest"]["required"] == ["reference", "candidate"]


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_page_is_self_contained_and_guarded(service: Service, path: str) -> None:
    answer = service.request("GET", path)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert not {"set-cookie", "server"} & set(answer.headers)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "src=" not in answer.body
    assert "<link" not in answer.body


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        ({"pairs": [PAIR] * 21}, 413, "Expected at most 20 pairs but got 21."),
        ({"pairs": [PAIR], "models": ["ratescor"]}, 422, "Expected models among er2score, ratescore,"),
        ({"pairs": []}, 422, "pairs: List should have at least 1 item"),
        ({"pairs": [{"reference": "Clear."}]}, 422, "pairs.0.candidate: Field required."),
        ({"pairs": [{**PAIR, "candidate": None}]}, 422, "pairs.0.candidate: Input should be a valid string."),
        (
            {"pairs": [{**PAIR, "age": "adult"}]},
            422,
            "pairs.0.age: Expected years from 0 to 130, or a text",
        ),
        ({"pairs": [PAIR], "model": "ratescore"}, 422, "model: Extra inputs are not permitted."),
        (
            {"pairs": [PAIR], "models": ["Failing"]},
            500,
            "Failing: Expected scores but the metric failed (RuntimeError).",
        ),
    ],
)
def test_unusable_request_gets_one_line(service: Service, request_: dict[str, Any], status: int, message: str) -> None:
    answer = service.score(**request_)
    assert (answer.status, list(answer.body)) == (status, ["error"])
    assert answer.body["error"].startswith(message)
    assert "\n" not in answer.body["error"]
    assert "effusion" not in answer.body["error"]


@pytest.mark.parametrize(
    ("body", "content_type", "status", "message"),
    [
        (b'{"pairs": [', "application/json", 400, "Expected JSON but it ends or is wrong at character 11."),
        (b'"\xff"', "application/json", 400, "Expected JSON in UTF-8."),
        (b"[" * 100_000, "application/json", 400, "Expected JSON but it is nested too deeply."),
        (b"[" * 100_000, "application/json", 400, "Expected JSON"),
        (b"[]", "application/json", 422, "body: "),
        (b"{}", "text/plain", 415, "Expected content type application/json but got 'text/plain'."),
        (b"{}", "", 415, "Expected content type application/json but got ''."),
        (b'"' + b"a" * 5_000_000, "application/json", 413, "Expected a body of at most 5,000,000 bytes."),
    ],
    ids=["truncated", "no-utf8", "nested", "empty", "list", "text", "untyped", "large"],
)
def test_unusable_body_gets_one_line(
    service: Service, body: bytes, content_type: str, status: int, message: str
) -> None:
    answer = service.request("POST", "/score", body, Content_Type=content_type)
    assert (answer.status, answer.body["error"][: len(message)]) == (status, message)


def test_large_body_without_a_length_is_refused(service: Service) -> None:
    chunks = b"".join(b"100000\r\n" + b"a" * 0x100000 + b"\r\n" for _ in range(6)) + b"0\r\n\r\n"
    answer = service.request("POST", "/score", chunks, Transfer_Encoding="chunked", Content_Type="application/json")
    assert answer.status == 413


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nowhere", 404), ("GET", "/score", 405)])
def test_other_path_names_those_that_exist(service: Service, method: str, path: str, status: int) -> None:
    answer = service.request(method, path)
    assert answer.status == status
    assert "POST /score" in answer.body["error"]


def test_report_over_the_limit_has_a_status_as_in_files(service: Service) -> None:
    [answer] = service.score(pairs=[{**PAIR, "candidate": "No edema. " * 2001}], models=["er2score"]).body["pairs"]
    assert answer["scores"]["er2score"]["total"] is None
    assert "over the limit" in answer["scores"]["er2score"]["status"]


def test_options_of_scorers_reach_the_models_of_the_service(processes: ForkServerContext, tmp_path: Path) -> None:
    precision: Precision = "bf16" if has_bfloat16_products() else "fp32"
    long = "".join(f"Left nodule of {size} mm. " for size in range(2, 200))
    pair = {**PAIR, "candidate": long}
    options = ("--device", "cpu", "--precision", precision, "--on-too-long", "truncate")
    with forked(processes, tmp_path, ["er2score"], *options) as running:
        [answer] = running.score(pairs=[pair]).body["pairs"]
    scorer = radreward.load("er2score", device="cpu", precision=precision, on_too_long="truncate")
    expected = scorer.score([PAIR["reference"]], [long])
    assert answer["scores"]["er2score"]["status"] == expected.status[0] == "truncated"
    assert answer["scores"]["er2score"]["total"] == pytest.approx(float(expected.total[0]), abs=1e-4)


def test_lone_surrogate_costs_one_pair_only(service: Service) -> None:
    lone = "\ud800"
    pairs = [{**PAIR, "id": lone}, {**PAIR, "candidate": f"No edema. {lone}"}, {**PAIR, "indication": lone}, PAIR]
    answer = service.score(pairs=pairs, models=["ratescore"], evidence=True)
    assert (answer.status, [pair["id"] for pair in answer.body["pairs"]]) == (200, [lone, 2, 3, 4])
    scores = [pair["scores"]["ratescore"] for pair in answer.body["pairs"]]
    assert scores[1]["status"] == "Expected UTF-8 text as candidate"
    assert scores[1]["total"] is None
    assert len({entry["total"] for entry in scores}) == 2
    answer = service.score(pairs=[PAIR], models=[lone])
    assert (answer.status, answer.body["error"][:22]) == (422, "Expected models among ")


def test_answer_is_as_openapi_describes_it(service: Service) -> None:
    for evidence in (False, True):
        answer = service.score(pairs=[PAIR], models=MODELS, evidence=evidence).body
        assert ScoreAnswer.model_validate(answer, strict=False).model_dump(exclude_unset=True, mode="json") == answer


def test_total_length_of_a_request_is_limited(service: Service) -> None:
    pairs = [{**PAIR, "candidate": "No edema. " * 1000}] * 9
    answer = service.score(pairs=pairs)
    assert answer.status == 413
    assert answer.body["error"].startswith("Expected at most 80,000 characters in all pairs but got 90,")


@pytest.mark.parametrize("host", ["example.org", "localhost.example.org", "127.0.0.1.example.org:80", "", "192.0.2.1"])
def test_unknown_host_is_refused(service: Service, host: str) -> None:
    answer = service.request("GET", "/health", Host=host)
    assert (answer.status, list(answer.body)) == (421, ["error"])


def test_trusted_hosts_are_answered(service: Service, small_service: Callable[..., Service]) -> None:
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:80"):
        assert service.request("GET", "/health", Host=host).status == 200
    named = small_service("--trusted-hosts", "Reports.example.org")
    assert named.request("GET", "/health", Host="reports.example.org:443").status == 200
    assert named.request("GET", "/health", Host="example.org").status == 421


def test_closed_connection_ends_its_work(small_service: Callable[..., Service], tmp_path: Path) -> None:
    service = small_service("--max-requests", "1")
    slow = {"pairs": [{"reference": "Clear.", "candidate": "quite slow"}] * 90}
    body = json.dumps(slow).encode()
    with socket.create_connection(("127.0.0.1", service.port)) as client:
        head = b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        client.sendall(head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        while service.score(pairs=[PAIR]).status != 503:  # then the slow one is accepted
            time.sleep(0.01)
        while not (tmp_path / "slow.txt").exists():  # then its first pair is scored
            time.sleep(0.01)
    while (answer := service.score(pairs=[PAIR])).status == 503:
        time.sleep(0.01)
    assert answer.status == 200
    assert (tmp_path / "slow.txt").read_text().count("scored") < 90


def test_limits_of_requests_and_time(small_service: Callable[..., Service]) -> None:
    service = small_service("--max-requests", "1", "--timeout", "0.2")
    slow = {"pairs": [{"reference": "Clear.", "candidate": "slow"}]}
    with ThreadPoolExecutor(6) as clients:
        answers = {answer.status: answer for answer in clients.map(lambda _: service.score(**slow), range(6))}
    assert set(answers) == {503, 504}
    assert answers[503].headers["retry-after"] == "5"
    assert answers[503].body == {"error": "Expected at most 1 requests at a time. Try again in 5 s."}
    assert answers[504].body == {"error": "Expected scores within 0.2 s. Send fewer pairs."}
    while service.score(pairs=[PAIR]).status != 200:  # the slow one is still being scored
        time.sleep(0.01)
    with socket.create_connection(("127.0.0.1", service.port)) as client:
        client.sendall(
            b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        assert client.recv(100).startswith(b"HTTP/1.1 408 ")


def test_signal_ends_the_service_after_accepted_requests(small_service: Callable[..., Service]) -> None:
    service = small_service("--max-requests", "1")

    def score_slowly() -> Answer:
        while (answer := service.score(pairs=[{"reference": "Clear.", "candidate": "slow"}])).status == 503:
            pass
        return answer

    with ThreadPoolExecutor(1) as clients:
        answer = clients.submit(score_slowly)
        while service.score(pairs=[PAIR]).status != 503:  # then the slow one is being scored
            pass
        assert service.process.pid
        os.kill(service.process.pid, signal.SIGTERM)
        assert answer.result().status == 200
    assert isinstance(service.process, ForkServerProcess)
    service.process.join(30)
    assert service.process.exitcode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scorers", "nobody"], "nobody: Expected the folder of a model"),
        (["--max-pairs", "0"], "--max-pairs: Expected a number > 0 but got 0."),
        (["--host", "192.0.2.1"], "192.0.2.1:8000: cannot be used"),
        (["--port", "99999"], "--port: Expected a port from 0 to 65535 but got 99999."),
    ],
)
def test_unusable_option_is_one_line(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"radreward: {message}")
    assert error.count("\n") == 1
