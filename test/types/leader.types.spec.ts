import { type Cases, describeCases } from './compile-cases.js';

const SETUP = `
import { applyDecorators } from '@nestjs/common';
import { type DeposedChange, LeaderOnly, type LeaderTerm, OnDeposed, OnElected } from 'nestjs-distributed-lock';
import { Observable } from 'rxjs';
`;

const NEVER_UNDEFINED = '@LeaderOnly needs a method that may return undefined';
const NOT_ASYNC = 'the method must return a Promise or an Observable';
const NO_METHOD = 'only a method can be reserved for the leader';

const CASES: Cases = {
  'what a method for the leader returns': [
    [`@LeaderOnly('x')`, 'async m()'],
    [`@LeaderOnly('x')`, 'm(): Promise<void>'],
    [`@LeaderOnly('x')`, 'm(): Promise<string | undefined>'],
    [`@LeaderOnly('x')`, 'm(): Promise<unknown>'],
    [`@LeaderOnly('x')`, 'm(): Observable<string>'],
    [`@LeaderOnly('x')`, 'm(): any'],
    [`@LeaderOnly('x')`, 'private m(id: string): Promise<void>'],
    [`@LeaderOnly('x')`, 'm(): Promise<string>', NEVER_UNDEFINED],
    [`@LeaderOnly('x')`, 'm(): string', NOT_ASYNC],
    [`@LeaderOnly('x')`, 'm(): void', NOT_ASYNC],
    [`@LeaderOnly('x')`, 'get m(): string', NO_METHOD],
  ],
  'what methods that are called take': [
    [`@OnElected('x')`, 'm(): void'],
    [`@OnElected('x')`, 'async m(term: LeaderTerm)'],
    [`@OnElected('x')`, 'm(term: { readonly signal: AbortSignal }): void'],
    [`@OnElected('x')`, 'm(term: string): void', 'string'],
    [`@OnElected('x')`, 'm(term: LeaderTerm, more: number): void', 'more'],
    [`@OnDeposed('x')`, 'm(): void'],
    [`@OnDeposed('x')`, 'async m(change: DeposedChange)'],
    [`@OnDeposed('x')`, 'm(change: { readonly reason: string }): void'],
    [`@OnDeposed('x')`, 'm(change: LeaderTerm): void', 'LeaderTerm'],
  ],
  options: [
    [`@LeaderOnly('x', { ttl: '10s', heartbeat: 5, tokenPeriod: '1s' })`, 'async m()'],
    [`@LeaderOnly('x', { nodeId: 'n', reclaim: true, service: 's' })`, 'async m()'],
    [`@LeaderOnly('x', { returns: 'observable' })`, 'm(): Observable<string>'],
    [`@OnElected('x', { ttl: '10s' })`, 'async m()'],
    [`@LeaderOnly()`, 'async m()', 'Expected 1-2 arguments'],
    [`@LeaderOnly('x', { tttl: 5 })`, 'async m()', 'tttl'],
    [`@OnElected('x', { returns: 'promise' })`, 'async m()', 'returns'],
  ],
  'other decorators': [
    [`@applyDecorators(LeaderOnly('x'))`, 'async m()'],
    [`@LeaderOnly('x') @OnElected('x')`, 'async m()'],
  ],
};

describeCases('the decorators of leadership', SETUP, CASES);
