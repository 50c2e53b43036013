/** Much more than any bounded wait of a test may take on a machine that does other things as well. */
const GENEROUS = 5_000;

/** What a promise came to, and that it did so in a time that is bounded at all. */
export async function inTime<T>(promise: Promise<T>, limit = GENEROUS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Nothing has come of it in ${limit} ms`)), limit);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
