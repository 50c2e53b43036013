import { LockDriverError } from '../../errors/lock-driver.error.js';

/** How long an answer may take, and what to do when it does not come. */
export interface AnswerLimit {
  readonly ms: number;
  readonly onSilence: () => void;
}

/** Settles as the promise does, or rejects when the time is over. */
export async function answerWithin<T>(answer: Promise<T>, limit: AnswerLimit): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new LockDriverError(`The server did not answer within ${limit.ms / 1000} s`));
      limit.onSilence();
    }, limit.ms);
  });
  try {
    return await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}
