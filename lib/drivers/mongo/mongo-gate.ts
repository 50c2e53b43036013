import { LockConfigError } from '../../errors/lock-config.error.js';
import type {
  Admission,
  AdmitRequest,
  RefusalRule,
} from '../../interfaces/lock-driver.interface.js';
import { MAY_BE_AHEAD } from '../fencing-rules.js';
import { isLostUpsert, mongoError } from './mongo-errors.js';
import { gateOf, type MongoSettings } from './mongo-options.js';
import type { MongoCollection } from './mongo-port.js';
import { admitPipeline } from './mongo-gate.statement.js';

/** As long as the server keeps what a gate has seen beyond what it must: a command's time is that of its beginning. */
const LONGEST_WAIT = 3_600_000;

const PLAIN = { raw: false, promoteValues: true, promoteLongs: true, useBigInt64: false } as const;

/** What the driver uses of a `ClientSession`. */
interface Session {
  inTransaction(): boolean;
  withTransaction: unknown;
}

/** A resource as the gate has it. */
interface GateRecord {
  /** Null where only refused tokens have come, which are not remembered. */
  readonly token: number | null;
  /** Why the last of those was refused. */
  readonly refused: RefusalRule | null;
}

/** The fencing gate, in a collection of its own. */
export class MongoGate {
  readonly #collection: MongoCollection;
  readonly #timeout: number;

  constructor({ db, collection, timeout }: MongoSettings) {
    this.#collection = db.collection(gateOf(collection));
    this.#timeout = timeout;
  }

  /** The collection comes with it: where there is none, a transaction of an old server could not make it. */
  createIndex(): Promise<unknown> {
    return this.#collection.createIndex({ purgeAt: 1 }, { expireAfterSeconds: 0 });
  }

  async admit(request: AdmitRequest, transaction: unknown): Promise<Admission> {
    const record =
      transaction === undefined
        ? await this.#alone(request)
        : await this.#change(request, { session: sessionIn(transaction) });
    return admissionOf(record, request.token);
  }

  /** Two upserts of one new resource may cross; the second time there is a document. */
  async #alone(request: AdmitRequest): Promise<GateRecord> {
    const writeConcern = { w: 'majority', wtimeoutMS: this.#timeout };
    const ask = (): Promise<GateRecord> => this.#change(request, { writeConcern });
    try {
      return await ask().catch((error: unknown) => {
        if (isLostUpsert(error)) {
          return ask();
        }
        throw error;
      });
    } catch (error) {
      throw mongoError('admit a fencing token', error, [request.resource]);
    }
  }

  #change(request: AdmitRequest, options: object): Promise<GateRecord> {
    const pipeline = admitPipeline(request, MAY_BE_AHEAD, LONGEST_WAIT);
    const change = this.#collection.findOneAndUpdate({ _id: request.resource }, pipeline, {
      ...PLAIN,
      maxTimeMS: this.#timeout,
      ...options,
      projection: { token: 1, refused: 1 },
      returnDocument: 'after',
      upsert: true,
      includeResultMetadata: false,
    });
    return change as Promise<GateRecord>;
  }
}

function admissionOf({ token: newest, refused }: GateRecord, token: number): Admission {
  if (newest === null) {
    return { admitted: false, rule: refused ?? 'forgotten' };
  }
  if (newest === token) {
    return { admitted: true };
  }
  return { admitted: false, rule: newest > token ? 'older' : 'ahead', newest };
}

function sessionIn(transaction: unknown): Session {
  const session = transaction as Partial<Session> | null | undefined;
  if (
    typeof session?.inTransaction !== 'function' ||
    typeof session.withTransaction !== 'function'
  ) {
    throw new LockConfigError(
      'What was given as transaction is no session: give the ClientSession of the client that keeps the locks',
    );
  }
  if (!session.inTransaction()) {
    throw new LockConfigError(
      'The session that was given has begun no transaction, so check and write would not commit together: call ' +
        'session.startTransaction() before, or use session.withTransaction()',
    );
  }
  return session as Session;
}
