import { Injectable } from '@nestjs/common';
import type { Item } from './item.js';
import { ItemsRepository } from './items.repository.js';
import { ItemsService } from './items.service.js';

const BUYERS = 200;
const STOCK = 50;

/** How a sale went. */
export interface SaleResult {
  readonly name: string;
  readonly buyers: number;
  readonly sold: number;
  readonly stockLeft: number;
  readonly oversold: number;
  readonly ms: number;
}

/** Lets a crowd of buyers in at once, first without the lock and then with it. */
@Injectable()
export class FlashSaleService {
  constructor(
    private readonly repository: ItemsRepository,
    private readonly items: ItemsService,
  ) {}

  async run(): Promise<readonly [unguarded: SaleResult, guarded: SaleResult]> {
    return [
      await this.sell('unguarded', (id) => this.items.buyUnguarded(id)),
      await this.sell('guarded', (id) => this.items.buy(id)),
    ];
  }

  private async sell(name: string, buy: (id: string) => Promise<Item>): Promise<SaleResult> {
    await this.repository.save({ id: name, stock: STOCK });
    const start = performance.now();
    const answers = await Promise.allSettled(Array.from({ length: BUYERS }, () => buy(name)));
    const ms = Math.round(performance.now() - start);
    const sold = answers.filter(({ status }) => status === 'fulfilled').length;
    const { stock: stockLeft } = await this.items.find(name);
    return { name, buyers: BUYERS, sold, stockLeft, oversold: Math.max(0, sold - STOCK), ms };
  }
}
