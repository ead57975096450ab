/** A model without a network: pi's faux provider with answers by rule, so that the example needs no key. */
import { createModels, fauxAssistantMessage, fauxProvider, fauxText, fauxToolCall } from "@earendil-works/pi-ai";

/**
 * Makes the model. A user message `tool NAME JSON` calls a tool; what pi asks to summarise gets a summary; anything
 * else is repeated. `requests` holds the messages of every request, oldest first.
 */
export function createFauxModel() {
  const faux = fauxProvider({ provider: "faux", models: [{ id: "plain" }] });
  const requests = [];
  const answer = ({ messages }) => {
    faux.appendResponses([answer]);
    requests.push(structuredClone(messages));
    const asked = textOf(messages.findLast((message) => message.role === "user"));
    if (asked.includes("<conversation>")) return fauxAssistantMessage(`Summary ${requests.length}`);
    const last = messages.at(-1);
    if (last?.role === "toolResult") return fauxAssistantMessage(`${last.toolName} is done`);
    const [, tool, json] = asked.match(/^tool (\w+) (.*)$/s) ?? [];
    if (tool === undefined) return fauxAssistantMessage(`You said: ${asked}`);
    const call = fauxToolCall(tool, JSON.parse(json), { id: `call-${requests.length}` });
    return fauxAssistantMessage([fauxText("One moment."), call], { stopReason: "toolUse" });
  };
  faux.setResponses([answer]);
  const models = createModels();
  models.setProvider(faux.provider);
  return { models, model: faux.getModel(), requests };
}

function textOf(message) {
  const { content = "" } = message ?? {};
  return typeof content === "string" ? content : content.map((block) => block.text ?? "").join("");
}
