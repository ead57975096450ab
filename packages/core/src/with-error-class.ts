import { SessionError, type SessionErrorCode } from "./errors.ts";
import type { SessionStorage } from "./session-storage.ts";

/** The codes that pi's session contract knows. */
export type ContractErrorCode = Extract<
  SessionErrorCode,
  "not_found" | "invalid_session" | "invalid_entry" | "invalid_fork_target" | "storage" | "unknown"
>;

/** An error class that is made as pi-agent-core's `SessionError` is. */
export type SessionErrorClass = new (code: ContractErrorCode, message: string, cause?: Error) => Error;

const CONTRACT_CODES: ReadonlySet<string> = new Set<ContractErrorCode>([
  "not_found",
  "invalid_session",
  "invalid_entry",
  "invalid_fork_target",
  "storage",
  "unknown",
]);

/**
 * The same storage, except that it rejects with errors of another class: pi's `AgentHarness` looks for instances of its
 * own `SessionError` and reports every other class by the operation that failed. Code and message stay, codes that are
 * Coppice's own become `storage`; the original error is the `cause`. Methods beyond the contract are there too.
 */
export function withErrorClass<Storage extends SessionStorage>(
  storage: Storage,
  errorClass: SessionErrorClass,
): Storage {
  const translate = (error: unknown): never => {
    if (!(error instanceof SessionError)) throw error;
    const code = CONTRACT_CODES.has(error.code) ? (error.code as ContractErrorCode) : "storage";
    throw new errorClass(code, error.message, error);
  };
  return new Proxy(storage, {
    get(target, name) {
      // On the storage itself: its private fields are not the proxy's.
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, args);
        return result instanceof Promise ? result.catch(translate) : result;
      };
    },
  });
}
