import type { Contestant } from './alternate.js';

/** Takes the lock and gives it back, once. */
export type Turn = () => Promise<unknown>;

/** A way in which turns are taken. */
export type Way = (turn: Turn) => Contestant['run'];

const WAITERS = 100;

/** One after the other; nobody ever waits. */
export const alone: Way = (turn) => async (operations) => {
  for (let i = 0; i < operations; i++) {
    await turn();
  }
};

/** A hundred ask at once, each once; then the next hundred. */
export const onceEach: Way = (turn) => async (operations) => {
  for (let done = 0; done < operations; done += WAITERS) {
    await Promise.all(Array.from({ length: WAITERS }, turn));
  }
};

/** A hundred ask again and again, each as soon as it has had its turn. */
export const looping: Way = (turn) => async (operations) => {
  const loop = alone(turn);
  await Promise.all(Array.from({ length: WAITERS }, () => loop(operations / WAITERS)));
};
