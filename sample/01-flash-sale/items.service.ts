import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { LockService, lockKey } from 'nestjs-distributed-lock';
import type { Item } from './item.js';
import { ItemsRepository } from './items.repository.js';

@Injectable()
export class ItemsService {
  constructor(
    private readonly items: ItemsRepository,
    private readonly locks: LockService,
  ) {}

  async find(id: string): Promise<Item> {
    const item = await this.items.find(id);
    if (item === undefined) {
      throw new NotFoundException(`There is no item ${id}`);
    }
    return item;
  }

  /** One buyer at a time for each item: what a buyer has read is still true when it is written. */
  buy(id: string): Promise<Item> {
    return this.locks.withLock(lockKey`item:${id}`, () => this.buyUnguarded(id));
  }

  /** The same without the lock: while one buyer waits for the database, others read the same stock. */
  async buyUnguarded(id: string): Promise<Item> {
    const { stock } = await this.find(id);
    if (stock === 0) {
      throw new ConflictException(`Item ${id} is sold out`);
    }
    return this.items.save({ id, stock: stock - 1 });
  }
}
