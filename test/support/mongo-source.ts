import { DryMongoBinary, MongoBinary } from 'mongodb-memory-server-core';
import { findProgram } from './programs.js';

/** A server that runs already, a program to start one, or the stand-in where there is neither. */
export type MongoSource =
  | { readonly kind: 'url'; readonly url: string; readonly label: string }
  | { readonly kind: 'program'; readonly path: string; readonly label: string }
  | { readonly kind: 'stand-in'; readonly label: string };

/**
 * `MONGODB_URL`, else `mongod` on the PATH, else one that mongodb-memory-server has fetched before, or may fetch now if
 * `MONGODB_DOWNLOAD` is true.
 */
export async function findMongo(): Promise<MongoSource> {
  const url = process.env['MONGODB_URL'];
  if (url) {
    return { kind: 'url', url, label: 'the MongoDB of MONGODB_URL' };
  }
  const onPath = await findProgram('mongod');
  if (onPath !== undefined) {
    return { kind: 'program', path: onPath, label: 'mongod on the PATH' };
  }
  const fetched = await fetchedMongod();
  return fetched === undefined
    ? { kind: 'stand-in', label: 'the STAND-IN for MongoDB' }
    : { kind: 'program', path: fetched, label: 'mongod of mongodb-memory-server' };
}

async function fetchedMongod(): Promise<string | undefined> {
  const cached = await DryMongoBinary.locateBinary(await DryMongoBinary.generateOptions());
  if (cached !== undefined || process.env['MONGODB_DOWNLOAD'] !== 'true') {
    return cached;
  }
  console.log('Fetching mongod ...');
  return MongoBinary.getPath();
}
