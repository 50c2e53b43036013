import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Electorate } from '../../support/leader/electorate.js';
import { BACKENDS, useBackend } from '../../support/leader/use-backend.js';
import { Program } from '../../support/program.js';

describe.each(BACKENDS)(
  'a leader that stands still past its ttl, between its look and its write, on %s',
  (kind) => {
    const backend = useBackend(kind);
    let program: Program;

    beforeAll(async () => {
      program = await Program.build(new URL('../../process/leader-process.ts', import.meta.url));
    });
    afterAll(() => program[Symbol.asyncDispose]());

    /** What became of its write, and what is in the ledger after that. */
    async function staleWrite(gated: boolean): Promise<readonly [string, readonly string[]]> {
      await using electorate = await Electorate.gather(program, backend, { ttl: 1_000 });
      const old = await electorate.candidate('old');
      await old.stand();
      await old.elected();
      const writing = old.write({ gated, stops: true });
      await old.stopped();

      const successor = await electorate.candidate('new');
      await successor.stand();
      await successor.elected();
      await expect(successor.write({ gated, stops: false })).resolves.toBe('written');

      old.resume();
      return [await writing, await electorate.ledger()];
    }

    it('is refused by the gate, and writes nothing', async () => {
      expect(await staleWrite(true)).toEqual(['STALE_FENCING_TOKEN', ['new']]);
    });

    it('writes over its successor where there is no gate: it is the gate that protects', async () => {
      expect(await staleWrite(false)).toEqual(['written', ['new', 'old']]);
    });
  },
);
