/** A document, a filter or a pipeline's stage. */
export type MongoDocument = Readonly<Record<string, unknown>>;

/** What the driver uses of a change stream. */
export interface MongoChangeStream {
  readonly closed: boolean;
  tryNext(): Promise<unknown>;
  close(): Promise<void>;
  once(event: 'resumeTokenChanged', listener: () => void): unknown;
}

/** What the driver uses of a collection. */
export interface MongoCollection {
  findOneAndUpdate(filter: object, update: object[], options: object): Promise<unknown>;
  bulkWrite(
    operations: readonly object[],
    options: object,
  ): Promise<{ readonly matchedCount: number }>;
  find(filter: object, options: object): AsyncIterable<unknown>;
  createIndex(
    fields: { readonly purgeAt: 1 },
    options: { readonly expireAfterSeconds: number },
  ): Promise<unknown>;
  watch(pipeline: object[], options: object): MongoChangeStream;
}

/**
 * What the driver uses of a `Db`. It is described by its shape, so that a `Db` of `mongodb` 6 and of 7 will do, and those
 * that Mongoose and TypeORM bring along.
 */
export interface MongoDatabase {
  readonly databaseName: string;
  readonly client?: { readonly options?: { readonly maxPoolSize?: number } };
  command(command: object, options: object): Promise<unknown>;
  collection(name: string): MongoCollection;
}
