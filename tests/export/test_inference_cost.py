"""Costs come for every model of the path, in its order."""

from every_pool import NotExported
from sklearn.datasets import load_iris

from shareboost import ShareBoostClassifier
from shareboost.export import cost_report
from shareboost.export.inference_cost import running_costs
from shareboost.rivals import OneVsRestGreedyClassifier


def test_every_model_has_the_costs_of_its_number_of_features():
    X, y = load_iris(return_X_y=True)
    for clf in (ShareBoostClassifier(3).fit(X, y), OneVsRestGreedyClassifier(3).fit(X, y)):
        costs = running_costs(clf)
        for i, n in enumerate(clf.path_.n_features):
            alone = cost_report(clf.at(int(n)))
            assert costs["multiply_adds"][i] == alone.multiply_adds[-1]
            assert costs["flash"][i] == alone.flash[-1]
            assert costs["ram"][i] == alone.ram[-1]


def test_what_cannot_be_exported_has_no_known_costs():
    X, y = load_iris(return_X_y=True)
    clf = ShareBoostClassifier(2).fit(X, y)
    clf.path_.features = NotExported(clf.selected_)
    assert running_costs(clf) is None
