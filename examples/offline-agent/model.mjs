/** A model without a network: pi's faux provider with answers by rule. An agent of yours has a real one in its place. */
import { createModels, fauxAssistantMessage, fauxProvider, fauxText, fauxToolCall } from "@earendil-works/pi-ai";

/**
 * Makes the model. A user message `tool NAME JSON` has it call that tool; anything else is answered with the number of
 * messages it was sent. `requests` holds the messages of every request, oldest first.
 */
export function createFauxModel() {
  const faux = fauxProvider({ provider: "faux", models: [{ id: "plain" }] });
  const requests = [];
  const answer = ({ messages }) => {
    faux.appendResponses([answer]);
    requests.push(structuredClone(messages));
    const last = messages.at(-1);
    if (last.role === "toolResult") return fauxAssistantMessage(`${last.toolName}: ${textOf(last)}`);
    const [, tool, json] = textOf(last).match(/^tool (\w+) (.*)$/s) ?? [];
    if (tool === undefined) return fauxAssistantMessage(`I know ${messages.length} messages.`);
    const call = fauxToolCall(tool, JSON.parse(json), { id: `call-${messages.length}` });
    return fauxAssistantMessage([fauxText("One moment."), call], { stopReason: "toolUse" });
  };
  faux.setResponses([answer]);
  const models = createModels();
  models.setProvider(faux.provider);
  return { models, model: faux.getModel(), requests };
}

/** The text of a message, whatever else is in it. */
export function textOf({ content }) {
  return typeof content === "string" ? content : content.map((block) => block.text ?? "").join("");
}
