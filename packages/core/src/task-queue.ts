/**
 * Runs asynchronous tasks one after another, in the order they were handed in. A task that fails does not stop those
 * behind it. The first of an idle queue starts at once, inside `run`.
 */
export class TaskQueue {
  #tail: Promise<unknown> = Promise.resolve();
  #unfinished = 0;

  /** Settles as the task does. The task must report failure by rejecting, not by throwing at the call. */
  run<Value>(task: () => Promise<Value>): Promise<Value> {
    const isIdle = this.#unfinished++ === 0;
    const result = isIdle ? task() : this.#tail.then(task, task);
    const finish = (): void => {
      this.#unfinished--;
    };
    this.#tail = result.then(finish, finish);
    return result;
  }

  /** Settles when every task handed in so far has finished. Never rejects. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
