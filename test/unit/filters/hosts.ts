import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';

/** What is needed of a response, of Express or of Fastify. */
export class HttpResponse {
  readonly headers: Record<string, string> = {};

  header(name: string, value: string): void {
    this.headers[name] = value;
  }
}

class AnyController {
  handle(): void {}
}

/** A call over this transport, answered by this response if it is HTTP. */
export function hostOf(type: string, response: object = new HttpResponse()): ExecutionContextHost {
  const handler = Reflect.get(AnyController.prototype, 'handle');
  const host = new ExecutionContextHost([{}, response], AnyController, handler);
  host.setType(type);
  return host;
}
