import type * as PiAi from "pi-ai-0-80";

/** What a model was asked, as far as the session decides it. */
interface ModelRequest {
  readonly model: string;
  readonly reasoning: unknown;
  readonly sessionId: unknown;
  readonly systemPrompt: unknown;
  readonly messages: unknown;
  readonly tools: readonly string[];
}

/** pi's faux provider with answers by rule, and every request it got. */
export interface ScriptedModel {
  readonly models: PiAi.MutableModels;
  getModel(id: "plain" | "thinker"): PiAi.Model<string>;
  readonly requests: ModelRequest[];
}

interface Message {
  role: string;
  content: string | { type: string; text?: string }[];
  toolName?: string;
}

/**
 * A model that needs no network. By the text of the last user message: `tool NAME JSON` (several lines: several at
 * once) calls tools; `fail TEXT` is a provider's error; a conversation to summarise gets a summary; anything else is
 * answered with the text and the number of messages.
 */
export function createScriptedModel(pi: typeof PiAi): ScriptedModel {
  const faux = pi.fauxProvider({
    api: "faux",
    provider: "faux",
    models: [{ id: "plain" }, { id: "thinker", reasoning: true, contextWindow: 200_000 }],
  });
  const requests: ModelRequest[] = [];
  const answer: Extract<Parameters<typeof faux.setResponses>[0][number], (...args: never[]) => unknown> = (
    context,
    options,
    _state,
    model,
  ) => {
    faux.appendResponses([answer]);
    const { systemPrompt, messages, tools = [] } = context;
    requests.push({
      model: model.id,
      reasoning: (options as { reasoning?: unknown } | undefined)?.reasoning,
      sessionId: options?.sessionId,
      systemPrompt,
      // A copy, because the harness goes on with the list.
      messages: structuredClone(messages),
      tools: tools.map((tool) => tool.name),
    });
    const last = messages.at(-1) as Message | undefined;
    const asked = textOf((messages as Message[]).findLast((message) => message.role === "user"));
    if (asked.includes("<conversation>"))
      return pi.fauxAssistantMessage(`## Goal\nSummary of ${asked.length} characters`);
    if (last?.role === "toolResult")
      return pi.fauxAssistantMessage(`done ${last.toolName}: ${textOf(last).slice(0, 40)}`);
    if (asked.startsWith("fail ")) {
      return pi.fauxAssistantMessage("", { stopReason: "error", errorMessage: asked.slice("fail ".length) });
    }
    const calls = [...asked.matchAll(/^tool (\w+) (\{.*\})$/gm)];
    if (calls.length > 0) {
      const blocks = calls.map(([, name = "", json = "{}"], index) =>
        pi.fauxToolCall(name, JSON.parse(json), { id: `call-${requests.length}-${index}` }),
      );
      return pi.fauxAssistantMessage([pi.fauxText("calling"), ...blocks], { stopReason: "toolUse" });
    }
    const text = pi.fauxText(`re: ${asked} [${messages.length}]`);
    return pi.fauxAssistantMessage(model.id === "thinker" ? [pi.fauxThinking("thinking"), text] : text);
  };
  faux.setResponses([answer]);
  const models = pi.createModels();
  models.setProvider(faux.provider);
  return { models, getModel: (id) => faux.getModel(id) ?? faux.getModel(), requests };
}

function textOf(message: Message | undefined): string {
  const content = message?.content ?? "";
  if (typeof content === "string") return content;
  return content.map((block) => block.text ?? "").join("");
}
