import { type ArgumentsHost, Catch, Logger } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { LockError } from '../errors/lock.error.js';
import { inHttpForm, inTransportForm, isInTransportForm } from './transport-form.js';

const logger = new Logger('LockExceptionFilter');

/**
 * Answers HTTP callers when a lock error comes from outside all interceptors: from a guard or a middleware. What comes
 * from handlers, pipes and services is answered without it, and other transports as they are without it.
 */
@Catch(LockError)
export class LockExceptionFilter extends BaseExceptionFilter {
  override catch(error: LockError, host: ArgumentsHost): void {
    switch (host.getType<string>()) {
      case 'http':
        super.catch(isInTransportForm(error) ? error : inHttpForm(error, host), host);
        break;
      case 'ws':
        // Nobody awaits a filter; what goes wrong here must not end the process.
        answerSocket(error, host).catch((failure: unknown) => logger.error(failure));
        break;
      default: // Where a filter gives nothing, Nest falls back to its own.
    }
  }
}

async function answerSocket(error: LockError, host: ArgumentsHost): Promise<void> {
  const { BaseWsExceptionFilter } = await import('@nestjs/websockets');
  const exception = isInTransportForm(error) ? error : await inTransportForm(error, host);
  new BaseWsExceptionFilter().catch(exception, host);
}
