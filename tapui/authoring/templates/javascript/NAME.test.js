/** The tools of {{name}}, called without a gateway. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { provider } from "./{{module}}.js";

test("it greets by name", async () => {
  assert.equal(await provider.call("greet", { name: "Ada" }), "Hello, Ada!");
});

test("it refuses to greet too often", async () => {
  await assert.rejects(provider.call("greet", { name: "Ada", times: 11 }), {
    code: "INVALID_TIMES",
  });
});

test("what is missing is told with its name", async () => {
  await assert.rejects(provider.call("greet"), { code: "INVALID_ARGS", text: "name: missing" });
});
