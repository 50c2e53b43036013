import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Item } from './item.js';

/** How long the database takes for a query, in milliseconds. */
const QUERY_TIME = 1;

/** Stands for a database: it answers later, and others can come in between. */
@Injectable()
export class ItemsRepository {
  private readonly items = new Map<string, Item>([['1', { id: '1', stock: 50 }]]);

  async find(id: string): Promise<Item | undefined> {
    await sleep(QUERY_TIME);
    return this.items.get(id);
  }

  async save(item: Item): Promise<Item> {
    await sleep(QUERY_TIME);
    this.items.set(item.id, item);
    return item;
  }
}
