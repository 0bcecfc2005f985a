"""The cloud APIs: signing, sending, paging, models and the families made of them."""
