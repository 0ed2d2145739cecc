"""No conversation loses a word in a template: random ones through templates of every kind."""
import pathlib

import pytest
from conversations import Ours, check_template

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[3]
KINDS = ROOT / "tests/fixtures/chat_templates"
# One of these leaves out messages on purpose.
TEMPLATES = sorted(path for folder in (KINDS, ROOT / "gateway/chat/templates",
                                       HERE / "jinja/templates")
                   for path in folder.glob("*.jinja") if path.stem != "blocks_and_scopes")


@pytest.fixture(scope="module")
def ours():
    renderer = Ours()
    yield renderer
    renderer.close()


def test_there_is_a_template_of_each_kind():
    assert len(list(KINDS.glob("*.jinja"))) >= 17 and len(TEMPLATES) >= 36


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_each_word_of_a_conversation_comes_out_once_in_order(ours, template):
    wrongs, firsts = check_template(ours, template, 150, seed=template.stem)
    assert wrongs == {"": 150}, firsts
