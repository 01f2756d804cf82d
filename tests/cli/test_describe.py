"""``lifemix describe``: what a model file holds."""


def test_describe_shows_what_the_model_needs(run, run_json):
    out = run("describe model.safetensors").out
    assert "time = days, event = died" in out
    assert "III 35%, II 34%, I 31%" in out
    assert "Quality on 40 rows held out" in out
    facts = run_json("describe model.safetensors")
    assert [column["name"] for column in facts["columns"]] == ["age", "dose", "stage"]
    assert facts["rows"] == 200
    assert facts["settings"]["hidden"] == [4]
