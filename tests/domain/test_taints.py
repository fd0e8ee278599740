import pytest

from domain.taints import Taint, Toleration, tolerated, toleration_of

GPU = Taint("dedicated", "gpu", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        pytest.param(Toleration("", "Exists", "", ""), GPU, True, id="everything"),
        pytest.param(
            Toleration("", "Exists", "", "NoExecute"), GPU, False, id="everything of another effect"
        ),
        pytest.param(Toleration("", "Equal", "gpu", ""), GPU, False, id="no key needs Exists"),
        pytest.param(Toleration("dedicated", "Exists", "", ""), GPU, True, id="the key"),
        pytest.param(Toleration("dedicated", "Equal", "gpu", "NoSchedule"), GPU, True, id="all of it"),
        pytest.param(Toleration("dedicated", "Equal", "tpu", ""), GPU, False, id="another value"),
        pytest.param(Toleration("dedicated", "Equal", "", ""), GPU, False, id="no value"),
        pytest.param(Toleration("k", "Equal", "", ""), Taint("k", "", "NoSchedule"), True, id="none on both"),
        pytest.param(Toleration("other", "Exists", "", ""), GPU, False, id="another key"),
    ],
)
def test_tolerated(toleration: Toleration, taint: Taint, expected: bool) -> None:
    assert tolerated(taint, [toleration]) is expected


def test_one_of_several_is_enough() -> None:
    assert tolerated(GPU, [toleration_of({"key": "other"}), toleration_of({"operator": "Exists"})])
    assert not tolerated(GPU, [])
