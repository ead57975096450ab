/** Programs that benchmarks run in processes of their own. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The path of a program in `programs/`. */
export function programPath(file) {
  return fileURLToPath(new URL(`programs/${file}`, import.meta.url));
}

/** Runs a program that answers questions over IPC: each answer carries the question's name. */
export function forkProgram(path, args, execPath = process.execPath) {
  const child = fork(path, args, { execPath, execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const answer = (question) =>
    new Promise((resolve, reject) => {
      const take = (message) => {
        if (message.question === question) finish(() => resolve(message.answer));
      };
      const fail = (code) =>
        finish(() => reject(new Error(`${path} ended (${code}) before it answered "${question}"`)));
      const finish = (settle) => {
        child.off("message", take);
        child.off("exit", fail);
        settle();
      };
      child.on("message", take);
      child.on("exit", fail);
    });
  const ask = (question, details) => {
    const answered = answer(question);
    child.send({ question, ...details });
    return answered;
  };
  return { answer, ask, end: () => child.disconnect() };
}
