import { Controller, Get, Param, Post } from '@nestjs/common';
import type { Item } from './item.js';
import { ItemsService } from './items.service.js';

/** A lock that stays busy answers 423 by itself: every `LockError` has a `statusCode`. */
@Controller('items')
export class ItemsController {
  constructor(private readonly items: ItemsService) {}

  @Get(':id')
  find(@Param('id') id: string): Promise<Item> {
    return this.items.find(id);
  }

  @Post(':id/buy')
  buy(@Param('id') id: string): Promise<Item> {
    return this.items.buy(id);
  }
}
