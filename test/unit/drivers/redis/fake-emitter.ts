import { EventEmitter } from 'node:events';

type Listener = (...args: never[]) => void;

/** Events with the listeners that clients take. */
export class FakeEmitter {
  readonly emitter = new EventEmitter();

  on(event: string, listener: Listener): this {
    this.emitter.on(event, listener as (...args: unknown[]) => void);
    return this;
  }

  once(event: string, listener: Listener): this {
    this.emitter.once(event, listener as (...args: unknown[]) => void);
    return this;
  }

  emit(event: string, ...args: unknown[]): void {
    this.emitter.emit(event, ...args);
  }
}
