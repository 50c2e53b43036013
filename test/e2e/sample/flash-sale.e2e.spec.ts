import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockService } from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppModule } from '../../../sample/01-flash-sale/app.module.js';
import { FlashSaleService } from '../../../sample/01-flash-sale/flash-sale.service.js';
import type { Item } from '../../../sample/01-flash-sale/item.js';

const itemOf = async (answer: Response): Promise<Item> => (await answer.json()) as Item;

describe('the flash sale', () => {
  let app: INestApplication;
  let url: string;

  async function start(locks?: LockService): Promise<void> {
    const testing = Test.createTestingModule({ imports: [AppModule] });
    if (locks !== undefined) {
      testing.overrideProvider(LockService).useValue(locks);
    }
    app = (await testing.compile()).createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  }

  const buy = (id: string): Promise<Response> =>
    fetch(`${url}/items/${id}/buy`, { method: 'POST' });

  const find = (id: string): Promise<Response> => fetch(`${url}/items/${id}`);

  afterEach(() => app.close());

  describe('with its own driver', () => {
    beforeEach(() => start());

    it('sells over HTTP exactly what is in stock, however many want it at once', async () => {
      const answers = await Promise.all(Array.from({ length: 60 }, () => buy('1')));
      const bought = answers.filter(({ status }) => status === 201);
      const left = await Promise.all(bought.map(async (answer) => (await itemOf(answer)).stock));
      expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(10);
      expect(await itemOf(await find('1'))).toEqual({ id: '1', stock: 0 });
    });

    it('answers 404 for an item that there is not', async () => {
      expect((await buy('2')).status).toBe(404);
      expect((await find('2')).status).toBe(404);
    });

    it('oversells without the lock, and only without it', async () => {
      const [unguarded, guarded] = await app.get(FlashSaleService).run();
      expect(unguarded.oversold).toBeGreaterThan(0);
      expect(guarded).toMatchObject({ sold: 50, stockLeft: 0, oversold: 0 });
    });
  });

  describe('with locks that it does not get', () => {
    const driver = new TestLockDriver();

    beforeEach(() => start(new LockService({ driver, wait: 0 })));
    afterEach(() => driver.reset());

    it('answers 423 while the item is locked, and sells nothing', async () => {
      driver.busyNext();
      const answer = await buy('1');
      expect(answer.status).toBe(423);
      expect(await answer.json()).toMatchObject({ code: 'LOCK_TIMEOUT' });
      expect(await itemOf(await find('1'))).toEqual({ id: '1', stock: 50 });
    });

    it('answers 503 while the backend is down, and sells nothing', async () => {
      driver.failNext();
      expect((await buy('1')).status).toBe(503);
      expect(await itemOf(await find('1'))).toEqual({ id: '1', stock: 50 });
    });
  });
});
