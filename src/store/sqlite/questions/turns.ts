/** Whose turn it is: callers one after the other, and of each caller what came first. */
export class Turns<T> {
  readonly #callers = new Map<string, T[]>();

  add(caller: string, task: T): void {
    const tasks = this.#callers.get(caller);
    if (tasks === undefined) this.#callers.set(caller, [task]);
    else tasks.push(task);
  }

  remove(caller: string, task: T): void {
    const left = this.#callers.get(caller)?.filter((other) => other !== task) ?? [];
    if (left.length === 0) this.#callers.delete(caller);
    else this.#callers.set(caller, left);
  }

  /** It stays, and its caller goes to the end of the line. */
  next(): T | undefined {
    const first = this.#callers.entries().next().value;
    if (first === undefined) return undefined;
    const [caller, tasks] = first;
    this.#callers.delete(caller);
    this.#callers.set(caller, tasks);
    return tasks[0];
  }
}
