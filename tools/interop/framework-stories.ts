/**
 * Stories of the integrations of the Python package: an agent of a framework, with a scripted
 * model, calls its tool through the package's gate. See frameworks.py.
 */

import assert from "node:assert/strict";
import type { PythonScene } from "./python-stories.ts";
import type { Story } from "./story.ts";

interface Played {
  /** The amount of each run of the tool. */
  readonly ran: readonly number[];
  /** The tool results of the model, in the order of its calls. */
  readonly answers: readonly string[];
}

/** Acts of client.py by the name of their framework. */
const FRAMEWORKS = { langgraph: "LangGraph", "pydantic-ai": "Pydantic AI" } as const;

/** A second run of the same conversation is the same call. To LangGraph's it is another one. */
const REPEATING = "pydantic-ai";

export const FRAMEWORK_STORIES: readonly Story<PythonScene>[] = Object.entries(FRAMEWORKS).flatMap(
  ([act, name]) => [
    {
      title:
        act === REPEATING
          ? `${name}: an approved call runs once, and not again when the agent repeats it`
          : `${name}: an approved call runs, once, and its outcome is reported`,
      async play({ stage, client, token }: PythonScene) {
        const tool = `interop_${act}`;
        const times = act === REPEATING ? 2 : 1;
        const playing = client.act<Played>(act, { token, key: `${act}-1`, tool, times });
        const { id } = await Promise.race([stage.pending(tool), early(playing)]);
        await stage.decide(id, "approve");
        const { ran, answers } = await playing;
        assert.deepEqual(ran, [3]);
        assert.equal(answers[0], "did 3");
        assert.equal(answers.length, times);
        if (times > 1) assert.match(answers[1] ?? "", /was already attempted/);
        const { consumption } = await stage.read(id);
        assert.equal(consumption?.outcome?.status, "succeeded");
      },
    },
    {
      title: `${name}: a call that policy denies does not run, and the model learns the note`,
      async play({ client, token }: PythonScene) {
        const call = { token, key: `${act}-2`, tool: "db_drop", times: 1 };
        const { ran, answers } = await client.act<Played>(act, call);
        assert.deepEqual(ran, []);
        assert.match(answers[0] ?? "", /Agents must not drop tables\./);
      },
    },
  ],
);

/** An agent that ends before a decision has failed: waiting on would only hide it. */
async function early(playing: Promise<Played>): Promise<never> {
  throw new Error(`the agent did not wait: ${JSON.stringify(await playing)}`);
}
