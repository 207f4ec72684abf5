"""sarif.py: reads SARIF 2.1.0 from standard input and prints the codes of its results; complains about what the
standard forbids among the parts that akgrun writes."""
import json
import sys


def region(value):
    assert value["startLine"] >= 1 and value["startColumn"] >= 1
    assert (value["endLine"], value["endColumn"]) >= (value["startLine"], value["startColumn"])


def only(value, required, optional=()):
    assert set(required) <= set(value) <= set(required) | set(optional), sorted(value)


log = json.load(sys.stdin)
only(log, ["version", "runs", "$schema"])
assert log["version"] == "2.1.0" and len(log["runs"]) == 1
run = log["runs"][0]
only(run, ["tool", "results"], ["columnKind", "invocations"])
driver = run["tool"]["driver"]
only(driver, ["name", "version"], ["rules"])
assert driver["name"] == "akgrun"
rules = driver.get("rules", [])
for rule in rules:
    only(rule, ["id", "name", "shortDescription", "defaultConfiguration"], ["help"])
    only(rule["shortDescription"], ["text"])
    only(rule.get("help", {"text": ""}), ["text"], ["markdown"])
assert len({rule["id"] for rule in rules}) == len(rules)
for result in run["results"]:
    only(result, ["ruleId", "ruleIndex", "level", "message"], ["locations", "fixes"])
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] in ("error", "warning", "note")
    assert result["message"]["text"]
    for location in result.get("locations", []):
        only(location["physicalLocation"], ["artifactLocation"], ["region"])
        if "region" in location["physicalLocation"]:
            region(location["physicalLocation"]["region"])
    for fix in result.get("fixes", []):
        for change in fix["artifactChanges"]:
            for replacement in change["replacements"]:
                region(replacement["deletedRegion"])
                only(replacement, ["deletedRegion", "insertedContent"])
for invocation in run.get("invocations", []):
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"]
print(*[result["ruleId"] for result in run["results"]])
