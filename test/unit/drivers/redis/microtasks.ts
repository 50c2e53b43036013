/** Lets all go on that waits for nothing but promises: no timer runs meanwhile. */
export async function microtasks(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) {
    await Promise.resolve();
  }
}
