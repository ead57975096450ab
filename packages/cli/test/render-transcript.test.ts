import { describe, expect, it } from "vitest";
import { entriesToTranscript, messagesToTranscript, renderTranscript } from "../src/render-transcript.ts";
import { assistantEntry, messageEntry, modelEntry, userEntry } from "./support/make-entries.ts";

describe("renderTranscript", () => {
  it("[CP25] gives each turn a heading and its whole text, and other kinds a heading alone", () => {
    const parts = entriesToTranscript([
      userEntry("u1", null, "Why?\nTell me."),
      modelEntry("m1", "u1"),
      assistantEntry("a1", "m1", "Because."),
    ]);
    expect(renderTranscript(parts)).toEqual([
      "── user",
      "Why?",
      "Tell me.",
      "── model openrouter/some/model",
      "",
      "── assistant",
      "Because.",
    ]);
  });

  it("[CP25] cuts what a tool answered after twelve lines and says how much is left out", () => {
    const output = Array.from({ length: 20 }, (_, index) => `line ${index}`).join("\n");
    const [part] = entriesToTranscript([messageEntry("toolResult", "t1", null, output)]);
    expect(part?.text.split("\n").at(-1)).toBe("… 8 more lines");
    expect(part?.text.split("\n")).toHaveLength(13);
  });

  it("[CP25] shows summaries and errors of a model's context", () => {
    const parts = messagesToTranscript([
      { role: "compactionSummary", summary: "So far so good." },
      { role: "assistant", content: [], errorMessage: "overloaded" },
      { role: "bashExecution", command: "ls", output: "a b" },
    ]);
    expect(parts).toEqual([
      { heading: "compactionSummary", text: "So far so good." },
      { heading: "assistant", text: "error: overloaded" },
      { heading: "bashExecution $ ls", text: "a b" },
    ]);
  });

  it("[CP6] keeps line ends and takes escape sequences out", () => {
    const [part] = entriesToTranscript([userEntry("u1", null, "one\u001b[2J\r\ntwo\tthree")]);
    expect(part?.text).toBe("one\ntwo    three");
  });
});
