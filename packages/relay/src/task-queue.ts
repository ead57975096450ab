/** Runs tasks one after the other, in the order they came. */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as the task does, once those before it have ended. */
  run<Value>(task: () => Promise<Value>): Promise<Value> {
    const result = this.#last.then(task);
    // Whoever queued a task is told of its failure; the next one does not care.
    this.#last = result.catch(() => undefined);
    return result;
  }
}
